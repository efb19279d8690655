import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { SplitSet } from '../../../src/kernel/split-set.ts';

describe('a set that is split when it is large', () => {
  test.each([1, 4_095, 4_096, 4_097, 50_000])('%s texts count once each, before and after it is split', (count) => {
    const set = new SplitSet();
    for (let round = 0; round < 2; round++) {
      for (let n = 0; n < count; n++) set.add(createHash('sha256').update(String(n)).digest().toString('latin1'));
      expect(set.size).toBe(count);
    }
  });

  test('Texts with the same first character, and the empty one, are told apart', () => {
    const set = new SplitSet();
    for (let n = 0; n < 5_000; n++) set.add(n === 0 ? '' : `a${n}`);
    set.add('');
    expect(set.size).toBe(5_000);
  });
});
