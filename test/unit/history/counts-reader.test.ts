import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CountsReader } from '../../../src/history/stats/counts-reader.ts';
import { decodeCounts, encodeCounts, encodeSorted, PeriodCounts } from '../../../src/history/stats/period-counts.ts';
import { pack } from '../../../src/kernel/pack.ts';

const COUNTS = [1, 127, 128, 255, 256, 65_535, 65_536, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 45];
const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 300, unit: 'binary' }), { maxLength: 16 });

/** Returns all that a period shows. */
function shown(counts: PeriodCounts | null): unknown {
  if (counts === null) return null;
  const { decisions, scores, latency } = counts;
  const named = [counts.eventTypes, counts.reasons, counts.refusals].map((one) => Object.fromEntries(one));
  return { decisions, scores, latency, named };
}

function countsOf(types: readonly string[], codes: readonly string[], count: number): PeriodCounts {
  const counts = new PeriodCounts();
  for (const [n, type] of types.entries()) counts.decided(n % 5, n, n, type);
  for (const [n, code] of codes.entries()) {
    counts.reasons.add(code, count + n);
    counts.refusals.add(`${code}!`, count);
  }
  return counts;
}

describe('the reader of counts', () => {
  test('Rows are read as they were written, whatever the row before', () => {
    const reader = new CountsReader();
    fc.assert(
      fc.property(names, names, fc.constantFrom(...COUNTS), (types, codes, count) => {
        const counts = countsOf(types, codes, count);
        expect(shown(decodeCounts(encodeCounts(counts), reader))).toEqual(shown(counts));
        expect(shown(decodeCounts(encodeSorted(counts), reader))).toEqual(shown(counts));
      }),
    );
  });

  test('Names with the same hash are told apart', () => {
    const reader = new CountsReader();
    const alike = ['a_______b_______c', 'a_.._.._b_.._.._c'.replaceAll('.', 'x'), 'a_______b______yc'];
    for (const codes of [alike, alike.toReversed(), alike]) {
      const counts = countsOf([], codes, 7);
      expect(shown(decodeCounts(encodeCounts(counts), reader))).toEqual(shown(counts));
    }
  });

  test('The string of a name is made once', () => {
    const reader = new CountsReader();
    const rows = [countsOf(['login'], ['ip_vpn', 'ip_proxy'], 1), countsOf(['login'], ['ip_proxy', 'ip_vpn'], 1)];
    for (const counts of rows) expect(reader.read(encodeCounts(counts))).toBe(true);
    expect(reader.namesKept).toBe(5);
  });

  test('A truncated row, and bytes of another form, are refused', () => {
    const reader = new CountsReader();
    const bytes = encodeCounts(countsOf(['login', 'signup'], ['ip_vpn'], 70_000));
    for (let length = 0; length < bytes.length; length++) expect(reader.read(bytes.subarray(0, length))).toBe(false);
    expect(reader.read(bytes)).toBe(true);
    expect(reader.read(pack([[1], [], [], [], []]))).toBe(false);
    expect(reader.read(pack([[1], [], [], [1, 1], [], []]))).toBe(false);
    expect(reader.read(pack([[1], [], [], ['a', 'b'], [], []]))).toBe(false);
    expect(reader.read(pack([['x'], [], [], [], [], []]))).toBe(false);
    expect(reader.read(pack([[1], [], [], [], [], [], 'of a later build']))).toBe(true);
  });
});
