import { parse } from 'csv-parse/sync';
import { LABELS, type Label } from '../risk/judgement.ts';
import { columnWords, LABEL_COLUMNS } from './history-columns.ts';
import { csvSeparator } from './history-rows.ts';
import { LABEL_WORDS, meaningOf } from './history-words.ts';

/** Reads labels of decisions from a CSV file with a header, such as the chargebacks of a payment provider. */

const LABEL_FIELDS = ['request_id', 'label', 'source', 'note'] as const;
type LabelField = (typeof LABEL_FIELDS)[number];

export interface LabelRow {
  /** Line of the file where the row ends, from 1. */
  readonly line: number;
  readonly requestId: string;
  readonly label: Label;
  /** Where the label comes from and the row's own note, as `chargeback: card not present`. */
  readonly note: string | null;
}

export interface RejectedLabelRow {
  readonly line: number;
  readonly message: string;
}

export interface LabelRowOptions {
  /** Pairs `column=field`; an empty field ignores the column. */
  readonly map: readonly string[];
  /** Label of all rows; null to read it from a column. */
  readonly label: Label | null;
  /** Source of rows without one in a column. */
  readonly source: string | null;
  readonly noteCharactersMax: number;
}

export type ReadLabelRows =
  | {
      readonly kind: 'ok';
      /** Field → column. */
      readonly columns: ReadonlyMap<LabelField, string>;
      /** At most one row for each request id. */
      readonly rows: readonly LabelRow[];
      readonly rejected: readonly RejectedLabelRow[];
    }
  | { readonly kind: 'fault'; readonly message: string };

/** Usual names, in the form of `columnWords`. The column of the request ids is found by its values. */
const NAMES: Readonly<Record<Exclude<LabelField, 'request_id'>, readonly string[]>> = {
  label: ['label', 'verdict', ...LABEL_COLUMNS, 'status', 'kind', 'type'],
  source: ['source', 'label_source', 'reported_by', 'origin'],
  note: ['note', 'notes', 'reason', 'dispute_reason', 'reason_code', 'comment', 'description'],
};
const REQUEST_ID = /^req_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
/** Choice: the first rows of a file may have no decision. */
const ROWS_GUESSED_FROM = 100;

interface CsvRecord {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

export function readLabelRows(text: string, options: LabelRowOptions): ReadLabelRows {
  const rejected: RejectedLabelRow[] = [];
  // Typed by hand: the package's types do not know that `info` changes what a record is.
  const records = parse(text, {
    bom: true,
    info: true,
    delimiter: csvSeparator(text),
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    on_skip: (error) => {
      const { lines = 0, code = '' } = error as { readonly lines?: number; readonly code?: string } & Error;
      rejected.push({ line: lines, message: `is not CSV (${code})` });
      return undefined;
    },
  }) as unknown as readonly CsvRecord[];
  const [header, ...rows] = records;
  const names = (header?.record ?? []).map((name) => name.trim());
  const found = findColumns(names, rows, options);
  if (!(found instanceof Map)) return found;
  const byId = new Map<string, LabelRow>();
  for (const { record, info } of rows) {
    const line = info.lines;
    const cell = (field: LabelField): string => record[names.indexOf(found.get(field) ?? '')]?.trim() ?? '';
    const read = readRow(line, cell, options);
    const before = 'message' in read ? undefined : byId.get(read.requestId);
    if ('message' in read) rejected.push(read);
    else if (before !== undefined && before.label !== read.label)
      rejected.push({ line, message: `line ${before.line} has the other label for ${read.requestId}` });
    else if (before === undefined) byId.set(read.requestId, read);
  }
  rejected.sort((a, b) => a.line - b.line);
  return { kind: 'ok', columns: found, rows: [...byId.values()], rejected };
}

function readRow(
  line: number,
  cell: (field: LabelField) => string,
  { label: fixed, source: givenSource, noteCharactersMax }: LabelRowOptions,
): LabelRow | RejectedLabelRow {
  const requestId = cell('request_id');
  if (!REQUEST_ID.test(requestId)) return { line, message: `"${shortened(requestId)}" is not a request id` };
  const word = cell('label');
  const isFraud = fixed === null ? meaningOf(LABEL_WORDS, word) : fixed === 'fraud';
  if (isFraud === undefined)
    return { line, message: `its label is "${shortened(word)}", which is none of ${LABELS.join(', ')}` };
  const source = cell('source') || (givenSource ?? '');
  const note = [source, cell('note')].filter((text) => text !== '').join(': ');
  const label = isFraud ? 'fraud' : 'legitimate';
  return { line, requestId, label, note: note === '' ? null : note.slice(0, noteCharactersMax) };
}

const CELL_CHARACTERS_SHOWN = 40;

function shortened(text: string): string {
  return text.slice(0, CELL_CHARACTERS_SHOWN);
}

/** Guesses the columns and applies `--map`. */
function findColumns(
  names: readonly string[],
  rows: readonly CsvRecord[],
  { map, label }: LabelRowOptions,
): Map<LabelField, string> | { readonly kind: 'fault'; readonly message: string } {
  const sample = rows.slice(0, ROWS_GUESSED_FROM);
  const found = new Map<LabelField, string>();
  const ids = names.find((_name, at) => sample.some(({ record }) => REQUEST_ID.test(record[at]?.trim() ?? '')));
  if (ids !== undefined) found.set('request_id', ids);
  for (const [field, usual] of Object.entries(NAMES) as [Exclude<LabelField, 'request_id'>, readonly string[]][]) {
    const column = usual
      .map((one) => names.find((name) => columnWords(name) === one))
      .find((name) => name !== undefined && ![...found.values()].includes(name));
    if (column !== undefined) found.set(field, column);
  }
  for (const pair of map) {
    const fault = applyPair(pair, names, found);
    if (fault !== null) return { kind: 'fault', message: fault };
  }
  const listed = `the columns are ${names.map(shortened).join(', ') || 'missing'}`;
  if (!found.has('request_id')) return { kind: 'fault', message: `no column has request ids; ${listed}` };
  if (label === null && !found.has('label'))
    return { kind: 'fault', message: `no column has labels: name one by --map, or give --label; ${listed}` };
  if (label !== null) found.delete('label');
  return found;
}

/** Returns what is wrong with the pair. The last `=` separates: names of columns may have one. */
function applyPair(pair: string, names: readonly string[], found: Map<LabelField, string>): string | null {
  const at = pair.lastIndexOf('=');
  const column = pair.slice(0, at);
  const field = pair.slice(at + 1);
  if (at < 1) return `"${pair}" is not column=field`;
  if (!names.includes(column)) return `there is no column "${column}"; the columns are ${names.join(', ')}`;
  for (const [other, taken] of found) if (taken === column) found.delete(other);
  if (field === '') return null;
  const known = LABEL_FIELDS.find((one) => one === field);
  if (known === undefined) return `there is no field "${field}"; the fields are ${LABEL_FIELDS.join(', ')}`;
  found.set(known, column);
  return null;
}
