import { expect, test } from 'vitest';
import { readTables } from '../../../../src/extract/read/page-tables.ts';
import { markup, page } from '../../../support/pages.ts';

const { tables } = readTables(page('tables/tables.page'));

test('spanning cells are repeated, headers of several rows are joined, and the foot comes last', () => {
  expect(tables[0]).toEqual({
    index: 0,
    caption: 'Boats for hire',
    headers: ['Boat', 'Price / Hour', 'Price / Day'],
    rows: [
      ['Dinghy', '10 euros', '60'],
      ['Dinghy', '12', '70'],
      ['Skiff', 'ask us', 'ask us'],
      ['All prices with tax', 'All prices with tax', 'All prices with tax'],
    ],
  });
});

test('a caption and a column group without end tags contain no rows', () => {
  const page = markup('<table><caption>Boats<colgroup><col><tr><th>Boat<th>Price<tr><td>Skiff<td>10</table>');
  expect(readTables(page).tables).toEqual([
    { index: 0, caption: 'Boats', headers: ['Boat', 'Price'], rows: [['Skiff', '10']] },
  ]);
});

test('columns without headers are numbered, and missing cells are null', () => {
  expect(tables[1]).toMatchObject({
    headers: ['column_1', 'column_2'],
    rows: [
      ['a', 'b'],
      ['c', null],
    ],
  });
});

test('duplicate headers are made unique', () => {
  expect(tables[2]).toMatchObject({ headers: ['Name', 'Name_2', 'column_3'], rows: [['x', 'y', 'z']] });
});

test('a nested table is a table of its own', () => {
  expect(tables[3]).toMatchObject({ headers: ['column_1'], rows: [['before after']] });
  expect(tables[4]).toMatchObject({ headers: ['K'], rows: [['v']] });
});

test('a header cell next to a value is a cell of its row', () => {
  expect(tables[5]?.rows).toEqual([
    ['Length', '4 m'],
    ['Built', '1987'],
  ]);
});

test('layout tables and empty rows are omitted, and overlapping cells and invalid spans do no harm', () => {
  expect(tables).toHaveLength(7);
  expect(tables[6]?.rows).toEqual([
    ['A', '1', null],
    ['A', '2', '2'],
    ['3', null, null],
  ]);
});

test('spans do not extend beyond the table', () => {
  const { tables, isCut } = readTables(
    markup('<table><tr><td colspan="1000000" rowspan="65534">x</td></tr><tr><td>y</td></tr></table>'),
  );
  const [table] = tables;
  // There is no column left for the cell of the second row.
  expect(isCut).toBe(true);
  expect(table?.rows).toHaveLength(2);
  expect(table?.headers).toHaveLength(200);
});

test.each([
  ['tables', (extra: number) => '<table><tr><td>1</table>'.repeat(1_000 + extra)],
  ['columns', (extra: number) => `<table><tr>${'<td>1'.repeat(200 + extra)}</table>`],
  ['cells', (extra: number) => `<table>${`<tr>${'<td>1'.repeat(100)}`.repeat(1_000)}</table>${spanning(extra)}`],
])('%s beyond the limit are reported', (_what, text) => {
  expect(readTables(markup(text(0))).isCut).toBe(false);
  expect(readTables(markup(text(1))).isCut).toBe(true);
});

/** 100,000 cells, created from a few. */
function spanning(extra: number): string {
  return `<table><tr><td rowspan=0 colspan=100>1${'<tr>'.repeat(999 + extra)}</table>`;
}
