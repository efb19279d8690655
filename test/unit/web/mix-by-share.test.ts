import { describe, expect, test } from 'vitest';
import { mixByShare } from '../../../src/web/dashboard/pages/review/mix-by-share.ts';

const rowsOf = (kind: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${kind}${n}`);
const list = (kind: string, count: number, share: number, hasMore = false) => ({
  rows: rowsOf(kind, count),
  share,
  hasMore,
});
const countOf = (rows: readonly string[], kind: string): number => rows.filter((row) => row.startsWith(kind)).length;

describe('mixByShare', () => {
  test('Each beginning of the result has every list by its share, in its order', () => {
    const mixed = mixByShare([list('a', 500, 0.6), list('b', 500, 0.2), list('c', 500, 0.2)]);
    expect(mixed.slice(0, 10)).toEqual(['a0', 'a1', 'a2', 'b0', 'c0', 'a3', 'a4', 'a5', 'b1', 'c1']);
    for (const length of [10, 50, 500]) {
      const some = mixed.slice(0, length);
      expect([countOf(some, 'a'), countOf(some, 'b'), countOf(some, 'c')]).toEqual([
        0.6 * length,
        0.2 * length,
        0.2 * length,
      ]);
    }
    expect(mixed.filter((row) => row.startsWith('b'))).toEqual(rowsOf('b', 500));
    expect(mixed).toHaveLength(1_500);
  });

  test('A list without rows leaves its share to the others', () => {
    const mixed = mixByShare([list('a', 90, 0.6), list('b', 0, 0.2), list('c', 90, 0.2)]);
    expect([countOf(mixed.slice(0, 40), 'a'), countOf(mixed.slice(0, 40), 'c')]).toEqual([30, 10]);
    expect(mixed).toHaveLength(180);
  });

  test('Where a list has more to load the result ends, so that later rows do not change their order', () => {
    const before = mixByShare([list('a', 6, 0.6, true), list('c', 90, 0.2)]);
    const after = mixByShare([list('a', 60, 0.6), list('c', 90, 0.2)]);
    expect(before).toEqual(['a0', 'a1', 'a2', 'c0', 'a3', 'a4', 'a5', 'c1']);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(mixByShare([])).toEqual([]);
  });
});
