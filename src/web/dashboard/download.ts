/** Files that the page makes itself, for example an export of filtered rows. */

/** A cell that a spreadsheet would run: the guard is the one of the extractions' CSV. */
const FORMULA = /^[=+\-@\t\r]/;

/** Returns CSV (RFC 4180) with a header. Cells that a spreadsheet would take for a formula begin with an apostrophe. */
export function toCsv(columns: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  const cell = (value: string | number | null): string => {
    if (value === null) return '';
    if (typeof value === 'number') return String(value);
    const guarded = FORMULA.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
  };
  return [columns, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

/** Offers a text as a file. */
export function offerFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
