import { describe, expect, test } from 'vitest';
import { SlotMap } from '../../../src/kernel/slot-map.ts';

describe('a slot map', () => {
  test('A slot map holds the same entries as a Map after any sequence of writes and removals', () => {
    const slots = new SlotMap<{ readonly n: number }>();
    const map = new Map<number, { readonly n: number }>();
    for (let i = 0; i < 2_000; i++) {
      const key = (i * 7_919) % 41;
      if (i % 3 === 0) expect(slots.delete(key)).toBe(map.delete(key));
      else {
        slots.set(key, { n: i });
        map.set(key, { n: i });
      }
      expect([slots.size, slots.get(key)]).toEqual([map.size, map.get(key)]);
    }
    const byNumber = (a: { n: number }, b: { n: number }): number => a.n - b.n;
    expect([...slots.values()].toSorted(byNumber)).toEqual([...map.values()].toSorted(byNumber));
    slots.clear();
    expect([slots.size, [...slots.values()], slots.get(1)]).toEqual([0, [], undefined]);
  });

  test('Entries of a slot map may be removed while it is iterated', () => {
    const slots = new SlotMap<{ readonly key: number }>();
    for (let key = 0; key < 5; key++) slots.set(key, { key });
    const seen: number[] = [];
    for (const { key } of slots.values()) {
      seen.push(key);
      slots.delete(key);
      slots.delete(key + 1);
    }
    expect([seen, slots.size]).toEqual([[0, 2, 4], 0]);
  });
});
