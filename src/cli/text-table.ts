import Table from 'cli-table3';

/** Formats a table for people; returns `none` if there are no rows. */
export function tableText(head: string[], rows: readonly string[][], none: string): string {
  if (rows.length === 0) return none;
  // Choice: no colours, so that piped or pasted output is plain text.
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const row of rows) table.push(row);
  return table.toString();
}

export function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}
