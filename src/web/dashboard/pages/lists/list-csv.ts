import type { ListEntryRow } from '../../../../contract/wire-types.ts';
import { toCsv } from '../../to-csv.ts';
import { ACTIONS, type ListChange } from '../../list-actions.ts';
import { type CsvFault, type CsvRow, readCsv } from './csv-reader.ts';

/** Entries of a list as CSV: what the page exports can be uploaded again. */

const COLUMNS = ['kind', 'value', 'action', 'note', 'expires_at', 'event_types'] as const;
/** In place of kind and value, as files of earlier versions have it. */
const HASH_COLUMN = 'fingerprint_hash';
type ColumnName = (typeof COLUMNS)[number] | typeof HASH_COLUMN;

/** Source: `NOTE_CHARACTERS_MAX` of src/kernel/limits.ts. */
const NOTE_CHARACTERS_MAX = 500;
/** Choice: ten calls, a few seconds. */
export const UPLOAD_ROWS_MAX = 10_000;

const HASH = /^[0-9a-f]{64}$/i;
const SECONDS = /^\d{9,11}$/;
/** A date, or a date and a time with a zone: a time without one would mean another moment in every browser. */
const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/;
/** Prefix of `toCsv` for a value that a spreadsheet would read as a formula. */
const GUARD = /^'(?=[\s\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]*[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20])/u;

export interface ReadEntries {
  readonly entries: readonly ListChange[];
  readonly faults: readonly CsvFault[];
}

/** Reads entries; `blockEndsAt` is for blocks without `expires_at`, null: never. Times in Unix seconds. */
export function readEntriesCsv(text: string, blockEndsAt: number | null, nowSeconds: number): ReadEntries {
  const rows = readCsv(text);
  if (!Array.isArray(rows)) return { entries: [], faults: [rows as CsvFault] };
  const [header, ...lines] = rows as readonly CsvRow[];
  if (header === undefined) return { entries: [], faults: [{ line: 1, message: 'There is nothing to read.' }] };
  const names = header.cells.map((name) => name.trim().toLowerCase());
  const fault = headerFault(names, lines.length);
  if (fault !== null) return { entries: [], faults: [{ line: header.line, message: fault }] };
  const entries: ListChange[] = [];
  const faults: CsvFault[] = [];
  for (const { line, cells } of lines) {
    const read = cells.length === names.length ? readEntry(names, cells, blockEndsAt, nowSeconds) : WIDTH;
    if (typeof read === 'string') faults.push({ line, message: read });
    else entries.push(read);
  }
  return { entries, faults };
}

const WIDTH = 'It does not have as many values as the first line.';

function headerFault(names: readonly string[], rows: number): string | null {
  const unknown = names.find((name) => name !== HASH_COLUMN && !(COLUMNS as readonly string[]).includes(name));
  const hasSubject = names.includes(HASH_COLUMN) !== (names.includes('kind') && names.includes('value'));
  if (unknown !== undefined || !hasSubject || !names.includes('action'))
    return `The first line must name the columns: ${COLUMNS.join(', ')}. The last three may be absent.`;
  if (new Set(names).size < names.length) return 'A column occurs twice.';
  return rows > UPLOAD_ROWS_MAX ? `At most ${UPLOAD_ROWS_MAX} entries at once.` : null;
}

/** Returns the entry, or what is wrong with it. */
function readEntry(
  names: readonly string[],
  cells: readonly string[],
  blockEndsAt: number | null,
  nowSeconds: number,
): ListChange | string {
  const cell = (name: ColumnName): string => cells[names.indexOf(name)] ?? '';
  const isHash = names.includes(HASH_COLUMN);
  const kind = isHash ? 'fingerprint' : cell('kind').trim();
  const value = (isHash ? cell(HASH_COLUMN) : cell('value').replace(GUARD, '')).trim();
  if (kind === '' || value === '') return 'kind and value must not be empty.';
  if (kind === 'fingerprint' && !HASH.test(value)) return 'A fingerprint must have 64 hexadecimal digits.';
  const action = ACTIONS.find((name) => name === cell('action').trim().toLowerCase());
  if (action === undefined) return 'action must be block, allow or watch.';
  const note = cell('note').replace(GUARD, '');
  if (note.length > NOTE_CHARACTERS_MAX) return `note must have at most ${NOTE_CHARACTERS_MAX} characters.`;
  const ends = cell('expires_at').trim();
  const endsAt = ends === '' ? (action === 'block' ? blockEndsAt : null) : toSeconds(ends);
  if (endsAt !== null && !(endsAt > nowSeconds))
    return 'expires_at must be in the future: Unix seconds, 2027-01-31, or 2027-01-31T12:00:00Z.';
  const eventTypes = cell('event_types')
    .split(' ')
    .filter((type) => type !== '');
  return {
    kind,
    value: kind === 'fingerprint' ? value.toLowerCase() : value,
    action,
    note: note === '' ? null : note,
    expires_at: endsAt,
    ...(eventTypes.length > 0 && { event_types: eventTypes }),
  };
}

/** NaN for an invalid time. */
function toSeconds(text: string): number {
  if (SECONDS.test(text)) return Number(text);
  return ISO.test(text) ? Math.floor(Date.parse(text) / 1_000) : Number.NaN;
}

export function toListCsv(rows: readonly ListEntryRow[]): string {
  return toCsv(
    COLUMNS,
    rows.map(({ kind, value, action, note, expires_at: endsAt, event_types: eventTypes = [] }) => [
      kind,
      value,
      action,
      note,
      endsAt,
      eventTypes.join(' '),
    ]),
  );
}
