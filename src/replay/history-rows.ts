import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { parse } from 'csv-parse';
import { readParquet } from './history-parquet.ts';
import type { HistoryRow, ReadRow } from './history-row.ts';

export type HistoryFormat = 'csv' | 'ndjson' | 'parquet';

/** Choice: a row of a decide request has at most 64 KiB; a longer one is not a row. */
const ROW_CHARACTERS_MAX = 1_048_576;
const SEPARATORS = [',', ';', '\t', '|'];

/**
 * Reads rows in the order of the file. `onBytes` is called with the number of bytes that each piece has. `wanted`: columns that are needed;
 * null for all. Rejects when the file cannot be read.
 */
export function readHistory(
  path: string,
  format: HistoryFormat,
  onBytes: (bytes: number) => void,
  wanted: ReadonlySet<string> | null = null,
): AsyncGenerator<ReadRow> {
  if (format === 'parquet') return readParquet(path, onBytes, wanted);
  return format === 'csv' ? readCsv(path, onBytes) : readLines(path, onBytes);
}

async function* readCsv(path: string, onBytes: (bytes: number) => void): AsyncGenerator<ReadRow> {
  const delimiter = await separatorOf(path);
  const file = createReadStream(path, { highWaterMark: 1 << 20 });
  file.on('data', (piece) => onBytes(piece.length));
  const faults: ReadRow[] = [];
  const parser = parse({
    bom: true,
    delimiter,
    skip_records_with_error: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: ROW_CHARACTERS_MAX,
  });
  parser.on('skip', ({ lines = 0, code = '' }: { readonly lines?: number; readonly code?: string }) =>
    faults.push({ kind: 'fault', line: lines, message: `is not CSV (${code})` }),
  );
  file.on('error', (error) => parser.destroy(error));
  file.pipe(parser);
  let header: readonly string[] | null = null;
  try {
    for await (const fields of parser as AsyncIterable<readonly string[]>) {
      if (header === null) {
        header = uniqueNames(fields);
        yield { kind: 'columns', columns: header, leftOut: [] };
        continue;
      }
      if (faults.length > 0) yield* faults.splice(0);
      const row = new Map<string, unknown>();
      for (let at = 0; at < header.length; at++) {
        const value = fields[at];
        if (value !== undefined && value !== '') row.set(header[at] ?? '', value);
      }
      yield { kind: 'row', row };
    }
    yield* faults;
  } finally {
    file.destroy();
  }
}

const HEADER_BYTES = 65_536;

/** Returns the separator that occurs most often in the first line of a text, outside of quotes. */
export function csvSeparator(text: string): string {
  const [first = ''] = text.split(/[\r\n]/, 1);
  const bare = first.replaceAll(/"[^"]*"/g, '');
  const counts = SEPARATORS.map((separator) => bare.split(separator).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ',';
}

async function separatorOf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(HEADER_BYTES) });
    return csvSeparator(buffer.toString('utf8', 0, bytesRead));
  } finally {
    await file.close();
  }
}

/** Columns of one name get their position. */
function uniqueNames(names: readonly string[]): readonly string[] {
  return names.map((name, at) => {
    const text = name.trim();
    return text === '' || names.indexOf(name) !== at ? `${text}#${at + 1}` : text;
  });
}

async function* readLines(path: string, onBytes: (bytes: number) => void): AsyncGenerator<ReadRow> {
  const file = createReadStream(path, { highWaterMark: 1 << 20 });
  file.on('data', (piece) => onBytes(piece.length));
  let line = 0;
  for await (const text of createInterface({ input: file, crlfDelay: Infinity })) {
    line++;
    if (text.trim() === '') continue;
    const value = parseLine(text);
    if (value === null) yield { kind: 'fault', line, message: 'is not a JSON object' };
    else yield { kind: 'row', row: value };
  }
}

function parseLine(text: string): HistoryRow | null {
  if (text.length > ROW_CHARACTERS_MAX) return null;
  try {
    const value: unknown = JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    const row = new Map<string, unknown>();
    flatten(value, '', row);
    return row;
  } catch {
    return null;
  }
}

/** Members of nested objects get names with dots, as `entity_keys.email`. */
function flatten(value: object, prefix: string, into: Map<string, unknown>): void {
  for (const [name, member] of Object.entries(value)) {
    const path = prefix + name;
    if (member === null || member === '') continue;
    if (typeof member === 'object' && !Array.isArray(member)) flatten(member, `${path}.`, into);
    else into.set(path, member);
  }
}
