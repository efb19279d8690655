import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BoundedCache } from '../../../src/kernel/bounded-cache.ts';

describe('the bounded cache', () => {
  test('The cache returns the value set last for a key, or nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(30), fc.nat())), fc.integer({ min: 1, max: 8 }), (writes, generationMax) => {
        const cache = new BoundedCache<number, number>(generationMax);
        const last = new Map<number, number>();
        for (const [key, value] of writes) {
          cache.set(key, value);
          last.set(key, value);
          expect(cache.get(key)).toBe(value);
          const held = [...last].filter(([k, v]) => {
            const got = cache.get(k);
            expect(got === undefined || got === v).toBe(true);
            return got !== undefined;
          });
          expect(held.length).toBeLessThanOrEqual(2 * generationMax);
        }
      }),
    );
  });

  test('The cache never holds more than two generations', () => {
    const cache = new BoundedCache<number, number>(100);
    for (let i = 0; i < 10_000; i++) cache.set(i, i);
    let held = 0;
    // Reads from the newest back, so that a read never evicts an entry that is still to be checked.
    for (let i = 9_999; i >= 9_800; i--) if (cache.get(i) === i) held++;
    expect(held).toBeGreaterThanOrEqual(100);
    expect(held).toBeLessThanOrEqual(200);
    expect(cache.get(0)).toBeUndefined();
  });

  test('An entry that is used stays in the cache however many others are set', () => {
    const cache = new BoundedCache<string, string>(10);
    cache.set('used', 'still here');
    cache.set('unused', 'gone');
    for (let i = 0; i < 1_000; i++) {
      cache.set(`other-${i}`, 'x');
      expect(cache.get('used')).toBe('still here');
    }
    expect(cache.get('unused')).toBeUndefined();
  });

  test('clear() removes the entries of both generations', () => {
    const cache = new BoundedCache<number, number>(2);
    for (let i = 0; i < 4; i++) cache.set(i, i);
    cache.clear();
    for (let i = 0; i < 4; i++) expect(cache.get(i)).toBeUndefined();
  });
});
