import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { HashIndex } from '../../../src/kernel/hash-index.ts';
import { HashSet40 } from '../../../src/kernel/hash-set.ts';

describe('a set of hashes', () => {
  test('Each hash is new once, also after the parts have grown, and again after a reset', () => {
    const set = new HashSet40();
    const hashes = Array.from({ length: 100_000 }, () => randomBytes(8));
    const different = new Set(hashes.map((hash) => hash.toString('hex', 3))).size;
    const addAll = (): number => hashes.filter((hash) => set.add(hash.readUInt32BE(0), hash.readInt32BE(4))).length;
    expect([addAll(), addAll()]).toEqual([different, 0]);
    set.reset();
    expect([addAll(), addAll()]).toEqual([different, 0]);
  });

  test('Halves with the highest bit, 0 and all ones are found again, and parts do not see each other', () => {
    const set = new HashSet40();
    const halves = [0, 2, 255, 256 + 7, -1, -0x8000_0000, 0x7fff_ffff];
    // 256 + 7 and 7 are the same part.
    const all = halves.flatMap((high) => halves.map((low) => [high, low] as const));
    const isNew = new Set(all.map(([high, low]) => `${high & 255} ${low}`)).size;
    expect(all.filter(([high, low]) => set.add(high, low)).length).toBe(isNew);
    expect(all.filter(([high, low]) => set.add(high, low)).length).toBe(0);
  });

  test('An index that was reset numbers from 0 again and knows nothing of before', () => {
    const index = new HashIndex();
    for (let n = 0; n < 5_000; n++) index.add(n, n);
    index.reset();
    expect(index.size).toBe(0);
    expect([4_999, 3, 4_999].map((n) => index.add(n, n))).toEqual([0, 1, 0]);
  });
});
