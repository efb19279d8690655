import { guardedCell } from '../../contract/csv-guard.ts';

type Cell = string | number | null;

/** Returns CSV (RFC 4180) with a header. Cells that a spreadsheet would take for a formula begin with an apostrophe. */
export function toCsv(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(toCell).join(',')}\r\n`).join('');
}

function toCell(value: Cell): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const guarded = guardedCell(value);
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}
