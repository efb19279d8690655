import { describe, expect, test } from 'vitest';
import type { SourceCookie, SourceSession } from '../../../../src/extract/base/source-session.ts';
import { type CookieChange, COOKIES_MAX, withCookieChanges } from '../../../../src/extract/fetch/session-cookies.ts';

const cookie = (name: string, value: string, more: Partial<SourceCookie> = {}): SourceCookie => ({
  name,
  value,
  domain: null,
  hostOnly: false,
  path: '/',
  secure: true,
  httpOnly: true,
  expiresAtMs: null,
  ...more,
});
const sessionOf = (...cookies: SourceCookie[]): string =>
  JSON.stringify({ host: 'shop.example', cookies, headers: { 'x-csrf': 'c' } } satisfies SourceSession);
const set = (one: SourceCookie): CookieChange => ({ kind: 'set', cookie: one });
const change = (session: string, changes: readonly CookieChange[], nowMs = 1_000): SourceSession | null => {
  const changed = withCookieChanges(session, JSON.stringify(changes), nowMs);
  return changed === null ? null : (JSON.parse(changed) as SourceSession);
};

describe('withCookieChanges', () => {
  test('a changed session has the cookies that were set and not those removed, and keeps all others', () => {
    const session = sessionOf(cookie('sid', '1'), cookie('view', '1'), cookie('once', '1'));
    const once = { name: 'once', domain: null, path: '/' };
    const changes: readonly CookieChange[] = [set(cookie('sid', '2')), { kind: 'removed', cookie: once }];
    expect(change(session, changes)).toEqual({
      host: 'shop.example',
      cookies: [cookie('sid', '2'), cookie('view', '1')],
      headers: { 'x-csrf': 'c' },
    });
  });

  test('cookies are distinguished by domain, path and name', () => {
    const alike = [
      cookie('a', '1'),
      cookie('a', '1', { path: '/x' }),
      cookie('a', '1', { domain: 'www.shop.example' }),
    ];
    const changed = change(sessionOf(...alike), [set(cookie('a', '2', { path: '/x' }))]);
    expect(changed?.cookies.map(({ value }) => value)).toEqual(['1', '2', '1']);
  });

  test('the session stays the same if nothing in it changed', () => {
    const session = sessionOf(cookie('sid', '1'));
    expect(change(session, [set(cookie('sid', '1'))])).toBeNull();
    expect(change(session, [{ kind: 'removed', cookie: { name: 'x', domain: null, path: '/' } }])).toBeNull();
  });

  test('expired cookies and, of too many, the oldest ones are removed', () => {
    const many = Array.from({ length: COOKIES_MAX }, (_, n) =>
      cookie(`c${n}`, '1', n === 5 ? { expiresAtMs: 999 } : {}),
    );
    const changed = change(sessionOf(...many), [set(cookie('new', '1')), set(cookie('newer', '1'))]);
    const names = changed?.cookies.map(({ name }) => name) ?? [];
    expect(names).toHaveLength(COOKIES_MAX);
    expect([names[0], names.includes('c5'), names.at(-1)]).toEqual(['c1', false, 'newer']);
  });
});
