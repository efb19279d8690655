import { describe, expect, test } from 'vitest';
import type { ApiKeyRow } from '../../../src/contract/wire-types.ts';
import { endOfDay, keyStateOf, readNetworks, stopsWithout } from '../../../src/web/dashboard/pages/keys/key-words.ts';

const NOW = 1_795_262_400;
const HOUR = 3_600;
const DAY = 24 * HOUR;

const KEY: ApiKeyRow = {
  prefix: 'sk_live_aaaa',
  name: 'shop',
  kind: 'secret',
  test: false,
  scopes: ['decide', 'read'],
  networks: [],
  created_at: NOW - DAY,
  expires_at: null,
  revoked_at: null,
  replaced_by: null,
  rate_limit: 6_000,
  origins: [],
  is_current: false,
  usage: { since: NOW - DAY, calls: 12, refusals: {}, last_used_at: NOW - 180 },
};

describe('The state of a key in words', () => {
  test.each([
    [{}, 'valid', 'Valid', null],
    [{ expires_at: NOW + 15 * DAY }, 'valid', 'Valid', NOW + 15 * DAY],
    [{ expires_at: NOW + 3 * DAY + HOUR }, 'ending', 'Expires in 3 days', NOW + 3 * DAY + HOUR],
    [{ expires_at: NOW + DAY }, 'ending', 'Expires in 1 day', NOW + DAY],
    [{ expires_at: NOW + 2 * HOUR }, 'ending', 'Expires in 2 h', NOW + 2 * HOUR],
    [{ expires_at: NOW }, 'expired', 'Expired', NOW],
    [{ expires_at: NOW + HOUR, replaced_by: 'sk_live_bbbb' }, 'rotating', 'Rotating until', NOW + HOUR],
    [{ expires_at: NOW - 1, replaced_by: 'sk_live_bbbb' }, 'expired', 'Expired', NOW - 1],
    [{ expires_at: NOW - 1, revoked_at: NOW - 5 }, 'revoked', 'Revoked', NOW - 5],
  ] as const)('%j is %s', (change, kind, word, at) => {
    expect(keyStateOf({ ...KEY, ...change }, NOW)).toMatchObject({ kind, word, at });
  });
});

describe('The consequences of revoking a key', () => {
  test('name its use, each of its scopes, and scopes that no other valid key has', () => {
    const other: ApiKeyRow = { ...KEY, prefix: 'sk_live_bbbb', scopes: ['read'] };
    const ended: ApiKeyRow = { ...KEY, prefix: 'sk_live_cccc', expires_at: NOW };
    expect(stopsWithout(KEY, [KEY, other, ended], NOW)).toEqual([
      'It was last used 3 min ago; 12 calls in the last 24 hours at most.',
      'Decide calls with it are refused: your shop goes on without decisions.',
      'Programs that read with it are refused, and dashboard sessions that signed in with it end.',
      'Its public key stays valid: revoke that by itself.',
      'No other valid key has decide: then only the command line can make one that has.',
    ]);
  });

  test('name the pages of a public key', () => {
    const key: ApiKeyRow = { ...KEY, kind: 'public', scopes: ['decide'], origins: ['https://shop.example'] };
    const unused: ApiKeyRow = { ...key, usage: { ...key.usage, calls: 0, last_used_at: null } };
    expect(stopsWithout(unused, [unused], NOW)).toEqual([
      'It was not used since the server started.',
      'Pages and apps that present it get no decisions and no collector tokens. It allows 1 origin.',
    ]);
  });
});

test('Networks are read from commas, spaces and lines, each once', () => {
  expect(readNetworks(' 10.0.0.0/8,\n127.0.0.1  10.0.0.0/8;')).toEqual(['10.0.0.0/8', '127.0.0.1']);
  expect(readNetworks(' ')).toEqual([]);
});

test('A last day ends a second before midnight, and other text is none', () => {
  expect(endOfDay('2026-12-31')).toBe(new Date(2026, 11, 31, 23, 59, 59).getTime() / 1_000);
  expect(endOfDay('')).toBeNull();
});
