import { stringify } from 'csv-stringify/sync';
import type { OutputOptions } from '../../core/extraction.ts';
import type { JsonObject, JsonValue } from '../connector.ts';
import { valueAt, type Leaf } from './flatten.ts';
import { META, META_NAMES } from './record-meta.ts';
import { asObject } from './record-paths.ts';
import { own } from './selection.ts';

export type CsvOptions = OutputOptions['csv'];

const META_LEAVES: readonly Leaf[] = META_NAMES.map((name) => ({ name: `${META}.${name}`, path: [META, name] }));

/**
 * The header line. Columns are those of the job, whatever its records hold: the leaves of its record schema after fields and new
 * names, then `_meta.*`. A table has no nested objects, so CSV is always flat.
 */
export function csvHeader(columns: readonly Leaf[], options: CsvOptions): string {
  return lines([[...columns, ...META_LEAVES].map(({ name }) => name)], options);
}

/**
 * Lines of RFC 4180, each ended by CRLF. Arrays and open objects are JSON text; null and absent values are empty, as is empty text;
 * true and false are written so. Text that a spreadsheet may take for a formula, whatever unseen characters stand before that, gets an
 * apostrophe in front; numbers stay numbers.
 * NUL, which ends the text for many readers, is removed.
 */
export function csvRows(records: readonly JsonObject[], columns: readonly Leaf[], options: CsvOptions): string {
  return lines(
    records.map((record) => [
      ...columns.map((column) => cellValue(record, column)),
      ...META_LEAVES.map(({ path }) => valueAt(record, path)),
    ]),
    options,
  );
}

function lines(rows: readonly (readonly JsonValue[])[], { delimiter }: CsvOptions): string {
  return stringify([...rows], {
    delimiter,
    record_delimiter: '\r\n',
    // Without it a line feed or a carriage return alone stands unquoted.
    quote_record_delimiter: true,
    cast: {
      boolean: String,
      object: (value) => withoutNul(JSON.stringify(value)),
      string: (text) => guarded(withoutNul(text)),
    },
  });
}

/**
 * What a spreadsheet may run: `=`, `+`, `-` and `@`, also as wide as an ideograph, at the beginning or behind what is not seen there,
 * which readers drop: blanks, line ends, byte order marks, controls, fillers. A tab or a line end alone may do as well.
 * Source: OWASP, "CSV Injection", for the characters. Choice: the library's own guard looks at the very first one alone.
 */
const FORMULA = /^(?:[\t\r\n]|[\s\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/u;

/** Only of text: a number that begins with a minus is none. */
function guarded(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

function withoutNul(text: string): string {
  return text.replaceAll('\0', '');
}

/** Of a nested record, or of a flat one, where the members of an open object stand one by one. */
function cellValue(record: JsonObject, { name, path }: Leaf): JsonValue {
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
