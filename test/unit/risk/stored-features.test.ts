import { describe, expect, it } from 'vitest';
import { FEATURE_SET } from '../../../src/risk/feature-row.ts';
import { FEATURE_NAMES, findColumn } from '../../../src/risk/features.ts';
import { readSignals } from '../../../src/risk/shown-signals.ts';
import { FEATURE_SETS, isReadableRow, readFeatureRow } from '../../../src/risk/stored-features.ts';
import { featureRow } from '../../support/feature-rows.ts';

/** The sets under which builds have stored rows, newest first, with their columns. Only add to it. */
const STORED_SETS = [
  [1_768_258_894, 190],
  [1_128_783_528, 189],
  [2_798_023_875, 161],
  [376_355_998, 159],
  [844_402_707, 145],
  [3_128_877_248, 142],
  [298_520_930, 140],
  [1_504_203_094, 137],
] as const;

describe('stored feature rows', () => {
  it('Rows of every set that a build has stored can be read: new columns need a line in ADDED, and one here', () => {
    expect([...FEATURE_SETS].map(([set, columns]) => [set, columns.length])).toEqual(STORED_SETS);
    expect([...FEATURE_SETS.keys()][0]).toBe(FEATURE_SET);
  });

  it.each(STORED_SETS)('A row of the set %d is read by the names of its columns', (set, count) => {
    const last = (FEATURE_SETS.get(set) ?? []).at(count - 1) ?? 0;
    const bytes = featureRow(set, { 'event:signup': 1, 'history:context_ratio': 0.25, [FEATURE_NAMES[last] ?? '']: 1 });
    const expected = [
      [findColumn('event:signup'), 1],
      [findColumn('history:context_ratio'), 0.25],
      [last, 1],
    ];
    expect([...(readFeatureRow(bytes)?.values ?? [])]).toEqual(expected);
    expect(readSignals(bytes)).toMatchObject({ 'event:signup': 1, 'history:context_ratio': 0.25, 'order:amount': 0 });
  });

  it('A row of an unknown set, and one that is cut off, cannot be read', () => {
    const bytes = featureRow(FEATURE_SET, { 'event:signup': 1 });
    expect([isReadableRow(bytes), readFeatureRow(bytes)?.set]).toEqual([true, FEATURE_SET]);
    expect(readFeatureRow(bytes.subarray(0, -1))).toBeNull();
    bytes.writeUInt32BE(7, 0);
    expect([isReadableRow(bytes), readFeatureRow(bytes), isReadableRow(Buffer.alloc(2))]).toEqual([false, null, false]);
  });
});
