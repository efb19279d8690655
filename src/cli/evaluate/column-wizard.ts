import { createInterface } from 'node:readline/promises';
import { applyMap, FIELD_NAMES, type ColumnMap } from '../../replay/history-columns.ts';
import { columnText } from '../../replay/history-events.ts';
import type { HistoryRow } from '../../replay/history-row.ts';
import { tableText } from '../text-table.ts';
import { forTerminal } from '../terminal-text.ts';

/** Choice: as much of a value as tells what it is. */
const VALUE_CHARACTERS = 24;

/** Shows what each column stands for, with its values in three rows. */
export function columnsText(columns: readonly string[], fields: ColumnMap, rows: readonly HistoryRow[]): string {
  const lines = columns.map((column) => [
    forTerminal(column),
    fields.get(column) ?? '',
    ...rows.map((row) => forTerminal(shown(row.get(column)))),
  ]);
  return tableText(['Column', 'Field', ...rows.map((_row, at) => `Row ${at + 1}`)], lines, 'no columns');
}

/** Asks on the terminal until the person agrees. Returns null if the input ends or Ctrl-C is pressed. */
export async function askForColumns(
  columns: readonly string[],
  guessed: ColumnMap,
  rows: readonly HistoryRow[],
): Promise<ColumnMap | null> {
  // Standard output is reserved for the report.
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const ended = new Promise<null>((resolve) => {
    terminal.once('close', () => resolve(null));
  });
  let fields = guessed;
  try {
    for (;;) {
      process.stderr.write(`${columnsText(columns, fields, rows)}\n`);
      const question = terminal.question('Enter to go on, or column=field ("column=" ignores it, ? lists fields): ');
      const answer = await Promise.race([question, ended]);
      if (answer === null) return null;
      if (answer.trim() === '') return fields;
      if (answer.trim() === '?') {
        process.stderr.write(`${FIELD_NAMES}\n`);
        continue;
      }
      const applied = applyMap(columns, fields, [answer.trim()], null);
      if (applied.kind === 'ok') fields = applied.columns;
      else process.stderr.write(`${forTerminal(applied.message)}\n`);
    }
  } finally {
    terminal.close();
  }
}

function shown(value: unknown): string {
  const text = value === undefined ? '' : columnText(value);
  return text.length > VALUE_CHARACTERS ? `${text.slice(0, VALUE_CHARACTERS - 1)}…` : text;
}
