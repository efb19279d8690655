import Table from 'cli-table3';

/** A table for people; `none` when there are no rows. */
export function tableText(head: string[], rows: readonly string[][], none: string): string {
  if (rows.length === 0) return none;
  // Choice: no colours, so that what is piped or pasted is plain.
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const row of rows) table.push(row);
  return table.toString();
}

export function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}
