import { stringify } from 'csv-stringify/sync';
import { guardedCell } from '../../contract/csv-guard.ts';
import type { OutputOptions } from '../../work/extraction-job.ts';
import type { JsonObject, JsonValue } from '../base/connector.ts';
import { valueAt, type Leaf } from './flatten.ts';
import { META, META_NAMES } from './record-meta.ts';
import { asObject } from './record-paths.ts';
import { own } from './selection.ts';

export type CsvOptions = OutputOptions['csv'];

const META_LEAVES: readonly Leaf[] = META_NAMES.map((name) => ({
  name: `${META}.${name}`,
  path: [META, name],
  schema: { type: name === 'seq' ? 'integer' : 'string' },
}));

/** Returns the columns of a table: the leaves of the record schema after `fields` and `rename`, then `_meta.*`. */
export function tableColumns(columns: readonly Leaf[]): readonly Leaf[] {
  return [...columns, ...META_LEAVES];
}

/**
 * Returns the header line. Its columns depend only on the job, not on its records: the leaves of the record schema after `fields` and
 * `rename`, then `_meta.*`. A table has no nested objects, so CSV is always flat.
 */
export function csvHeader(columns: readonly Leaf[], options: CsvOptions): string {
  return lines([tableColumns(columns).map(({ name }) => name)], options);
}

/**
 * Returns lines in the format of RFC 4180, each ended by CRLF. Arrays and open objects become JSON text. Null and absent values are empty,
 * like empty text. Booleans become `true` and `false`. Text that a spreadsheet may interpret as a formula, even behind invisible
 * characters, gets a leading apostrophe; numbers stay numbers. NUL is removed, because many readers end the text there.
 */
export function csvRows(records: readonly JsonObject[], columns: readonly Leaf[], options: CsvOptions): string {
  return lines(
    records.map((record) => tableColumns(columns).map((column) => cellValue(record, column))),
    options,
  );
}

function lines(rows: readonly (readonly JsonValue[])[], { delimiter }: CsvOptions): string {
  return stringify([...rows], {
    delimiter,
    record_delimiter: '\r\n',
    // Without this option, a lone line feed or carriage return is not quoted.
    quote_record_delimiter: true,
    cast: {
      boolean: String,
      object: (value) => withoutNul(JSON.stringify(value)),
      string: (text) => guardedCell(withoutNul(text)),
    },
  });
}

function withoutNul(text: string): string {
  return text.replaceAll('\0', '');
}

/** Returns the cell of a nested record, or of a flat one, in which the members of an open object are separate. */
export function cellValue(record: JsonObject, { name, path }: Leaf): JsonValue {
  const flat = own(record, name);
  if (flat !== undefined) return flat;
  const nested = valueAt(record, path);
  if (nested !== null || asObject(own(record, path[0] ?? '')) !== null) return nested;
  const prefix = `${name}.`;
  const members = Object.entries(record).filter(([key]) => key.startsWith(prefix));
  return members.length === 0
    ? null
    : Object.fromEntries(members.map(([key, value]) => [key.slice(prefix.length), value]));
}
