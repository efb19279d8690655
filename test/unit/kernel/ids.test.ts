import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newId, type IdPrefix } from '../../../src/kernel/ids.ts';

const PREFIXES: readonly IdPrefix[] = ['req', 'wh', 'dlv', 'ext', 'ses', 'cus'];
const NOW_MS = Date.UTC(2026, 10, 21, 12);

describe('ids', () => {
  test.each(PREFIXES)('An id with the prefix %s has 26 characters of Crockford base 32 after it', (prefix) => {
    for (let i = 0; i < 500; i++)
      expect(newId(prefix, NOW_MS + i)).toMatch(new RegExp(`^${prefix}_[0-9A-HJKMNP-TV-Z]{26}$`));
  });

  test('100,000 ids of the same millisecond are all different', () => {
    expect(new Set(Array.from({ length: 100_000 }, () => newId('req', NOW_MS))).size).toBe(100_000);
  });

  test('An id made later sorts after an earlier one as text', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 44), fc.integer({ min: 1, max: 2 ** 40 }), (nowMs, laterMs) => {
        expect(newId('req', nowMs) < newId('req', nowMs + laterMs)).toBe(true);
      }),
    );
  });

  test('The first ten characters encode the time, the same for a whole millisecond', () => {
    const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
    for (const nowMs of [0, 1, NOW_MS, NOW_MS + 0.75, 2 ** 48 - 1]) {
      const text = newId('dlv', nowMs).slice(4, 14);
      const read = Array.from(text).reduce((value, character) => value * 32 + alphabet.indexOf(character), 0);
      expect(read).toBe(Math.floor(nowMs));
    }
  });

  test('A time before 1970 still gives a well-formed id', () => {
    expect(newId('req', -5)).toMatch(/^req_0{10}/);
  });

  test('Every random character takes on all 32 values', () => {
    const seen = Array.from({ length: 16 }, () => new Set<string>());
    for (let i = 0; i < 2_000; i++) {
      const random = newId('req', NOW_MS).slice(14);
      for (const [at, set] of seen.entries()) set.add(random.charAt(at));
    }
    expect(seen.map((set) => set.size)).toEqual(Array.from({ length: 16 }, () => 32));
  });
});
