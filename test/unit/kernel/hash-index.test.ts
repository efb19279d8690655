import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { HashIndex } from '../../../src/kernel/hash-index.ts';

describe('numbers of hashes', () => {
  test('Each hash has the number of its first appearance, also after the parts have grown', () => {
    const index = new HashIndex();
    const numbers = new Map<string, number>();
    const hashes = Array.from({ length: 60_000 }, () => randomBytes(8));
    const wrong = [...hashes, ...hashes.slice(0, 30_000), ...hashes].filter((hash) => {
      const found = index.add(hash.readUInt32BE(0), hash.readUInt32BE(4));
      const number = numbers.get(hash.toString('latin1')) ?? numbers.size;
      numbers.set(hash.toString('latin1'), number);
      return found !== number;
    });
    expect(wrong).toEqual([]);
    expect(index.size).toBe(numbers.size);
  });

  test('Hashes are told apart that differ in one half only, are 0, or meet in one slot', () => {
    const index = new HashIndex();
    const halves = [0, 1, 256, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
    const all = halves.flatMap((high) => halves.map((low) => [high, low] as const));
    expect(all.map(([high, low]) => index.add(high, low))).toEqual(all.map((_, n) => n));
    expect(all.map(([high, low]) => index.add(high, low))).toEqual(all.map((_, n) => n));
  });

  test('A thousand hashes with the same low half and the same part are all kept', () => {
    const index = new HashIndex();
    for (let n = 0; n < 1_000; n++) index.add(n * 256, 7);
    expect(index.size).toBe(1_000);
    expect(index.add(500 * 256, 7)).toBe(500);
  });
});
