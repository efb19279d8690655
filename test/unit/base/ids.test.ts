import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newId, type IdPrefix } from '../../../src/base/ids.ts';

const PREFIXES: readonly IdPrefix[] = ['req', 'wh', 'dlv', 'ext', 'ses', 'cus'];
const NOW_MS = Date.UTC(2026, 10, 21, 12);

describe('ids', () => {
  test.each(PREFIXES)('an id of the kind %s has its prefix and 26 characters of Crockford base 32', (prefix) => {
    for (let i = 0; i < 500; i++)
      expect(newId(prefix, NOW_MS + i)).toMatch(new RegExp(`^${prefix}_[0-9A-HJKMNP-TV-Z]{26}$`));
  });

  test('100,000 ids of one millisecond are all different', () => {
    expect(new Set(Array.from({ length: 100_000 }, () => newId('req', NOW_MS))).size).toBe(100_000);
  });

  test('an id made later sorts later, by text', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 44), fc.integer({ min: 1, max: 2 ** 40 }), (nowMs, laterMs) => {
        expect(newId('req', nowMs) < newId('req', nowMs + laterMs)).toBe(true);
      }),
    );
  });

  test('the time stands in the first ten characters, the same for the whole millisecond', () => {
    const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
    for (const nowMs of [0, 1, NOW_MS, NOW_MS + 0.75, 2 ** 48 - 1]) {
      const text = newId('dlv', nowMs).slice(4, 14);
      const read = Array.from(text).reduce((value, character) => value * 32 + alphabet.indexOf(character), 0);
      expect(read).toBe(Math.floor(nowMs));
    }
  });

  test('a time before 1970 is no reason for a malformed id', () => {
    expect(newId('req', -5)).toMatch(/^req_0{10}/);
  });

  test('every random character takes on all 32 values', () => {
    const seen = Array.from({ length: 16 }, () => new Set<string>());
    for (let i = 0; i < 2_000; i++) {
      const random = newId('req', NOW_MS).slice(14);
      for (const [at, set] of seen.entries()) set.add(random.charAt(at));
    }
    expect(seen.map((set) => set.size)).toEqual(Array.from({ length: 16 }, () => 32));
  });
});
