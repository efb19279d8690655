import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readCsv } from '../../../src/web/dashboard/pages/lists/csv-reader.ts';
import { timesInFull } from '../../support/long.ts';

function cells(text: string): readonly (readonly string[])[] | string {
  const read = readCsv(text);
  return 'message' in read ? `line ${read.line}` : read.map((row) => row.cells);
}

describe('The CSV reader of the page of lists', () => {
  test.each([
    [
      'a,b\r\nc,d\r\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'a,b\nc,d',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    ['a\rb', [['a'], ['b']]],
    ['\uFEFFa,b', [['a', 'b']]],
    [
      '"a,b","c""d"\n"e\nf",',
      [
        ['a,b', 'c"d'],
        ['e\nf', ''],
      ],
    ],
    ['a\n\n\nb\n', [['a'], ['b']]],
    ['""', [['']]],
    [',', [['', '']]],
    ['', []],
  ])('reads %j', (text, expected) => {
    expect(cells(text)).toEqual(expected);
  });

  test.each([
    ['a,b\nc,"d', 'line 2'],
    ['a\n"b" c', 'line 2'],
    ['a"b', 'line 1'],
    ['"a\nb"\nc\nd"e', 'line 4'],
  ])('refuses %j at its line', (text, place) => {
    expect(cells(text)).toBe(place);
  });

  test('tells on which line each row begins, with line breaks inside of quotation marks', () => {
    const read = readCsv('a\n"b\r\nc"\n\nd');
    expect('message' in read ? [] : read.map(({ line }) => line)).toEqual([1, 2, 5]);
  });

  test('reads everything that csv-parse reads, in the same way, and refuses what it refuses', () => {
    const piece = fc.constantFrom('a', '1', ' ', ',', '"', '""', '\n', '\r\n', '"x"', '"y,z"', 'ß', '=', "'");
    let refused = 0;
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        const text = pieces.join('');
        let expected: string[][] | null;
        try {
          expected = parse(text, { relax_column_count: true, record_delimiter: ['\r\n', '\n', '\r'] });
        } catch {
          expected = null;
          refused++;
        }
        const read = cells(text);
        if (expected === null) expect(read).toBeTypeOf('string');
        // Empty lines are rows with one empty value there, and no rows here.
        else if (typeof read !== 'string') expect(read.filter(isRow)).toEqual(expected.filter(isRow));
        else expect(read).toEqual(expected);
      }),
      { numRuns: timesInFull(3_000), seed: 7 },
    );
    expect(refused).toBeGreaterThan(100);
  });

  test('reads four million characters of one quoted value without running out of stack', () => {
    const value = 'x""'.repeat(1_300_000);
    const [[first = ''] = []] = cells(`"${value}"`) as readonly (readonly string[])[];
    expect(first.length).toBe(2 * 1_300_000);
  });
});

function isRow(row: readonly string[]): boolean {
  return row.length > 1 || row[0] !== '';
}
