import { describe, expect, it } from 'vitest';
import { generatedRows, toFeatureRow } from '../../../bench/learning/generated-rows.ts';
import { SparseRows } from '../../../src/learn/sparse-rows.ts';
import { readFeatureRow } from '../../../src/risk/stored-features.ts';

describe('SparseRows', () => {
  it('Returns the values of each row over several blocks, rows without values and rows of many included', () => {
    const rows = new SparseRows();
    // More values than a block has room for at first.
    const given = Array.from({ length: 9_000 }, (_, row) =>
      Array.from({ length: row % 100 }, (_one, column): [number, number] => [column, row + column + 1]),
    );
    for (const values of given) rows.add(values);
    expect(rows.count).toBe(9_000);
    // Column 3 is left out, and the others move.
    const positions = Int32Array.from({ length: 100 }, (_, column) =>
      column === 3 ? -1 : column < 3 ? column : column - 1,
    );
    const target = new Float32Array(99);
    for (const [row, values] of given.entries()) {
      target.fill(0);
      rows.fill(row, positions, target);
      const expected = new Float32Array(99);
      for (const [column, value] of values) if (column !== 3) expected[positions[column] ?? 0] = value;
      if (Buffer.compare(Buffer.from(target.buffer), Buffer.from(expected.buffer)) !== 0)
        expect([row, ...target]).toEqual([row, ...expected]);
    }
  });
});

describe('generatedRows', () => {
  it('The bytes of a generated row are those of a decision with its values', () => {
    let count = 0;
    for (const row of generatedRows(200, 1)) {
      expect([...(readFeatureRow(toFeatureRow(row))?.values ?? [])]).toEqual(row.values);
      count += row.values.length;
    }
    // As in a week of bench:detect.
    expect(count / 200).toBeGreaterThan(28);
    expect(count / 200).toBeLessThan(40);
  });
});
