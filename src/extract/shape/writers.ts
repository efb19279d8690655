import { unreachable } from '../../kernel/brand.ts';
import type { RecordFormat } from '../../contract/vocabulary.ts';
import type { JsonObject } from '../base/connector.ts';
import { csvHeader, csvRows, type CsvOptions } from './csv.ts';
import type { Leaf } from './flatten.ts';
import { markdownDocument } from './markdown-document.ts';

/**
 * Records are stored as NDJSON, one chunk per step. A writer converts chunk after chunk into the bytes of a page or a file in one format.
 * It holds at most one chunk, however many there are.
 */
export interface RecordWriter {
  /** `content-type` of the output. */
  readonly contentType: string;
  /**
   * Returns the prefix written before the first record (`[`, or the CSV header). `isFirst` is true for a page that starts with the job's
   * first record, or that is the only one of a job that ended without records.
   */
  begin(isFirst: boolean): Buffer;
  /** Returns the bytes of a chunk's records. If `firstSeq` is given, the records have no `_meta.seq` yet and are numbered from it. */
  records(chunk: Uint8Array, firstSeq: number | null): Buffer;
  /** Returns the suffix written after the last record. */
  end(): Buffer;
}

/** Formats whose records are written one by one. */
export type TextFormat = Exclude<RecordFormat, 'parquet'>;

export interface WriterOptions {
  readonly format: TextFormat;
  readonly csv: CsvOptions;
  /** The columns of the job's shaper. */
  readonly columns: readonly Leaf[];
  /**
   * What encloses the records of a JSON page, or null for a file: a plain array. The text is written after the array of records, for
   * example `,"has_more":false,"next_cursor":null`.
   */
  readonly page: { readonly tail: string } | null;
}

const EMPTY = Buffer.alloc(0);
const BOM = '\uFEFF';
const LINE_FEED = 0x0a;

/** Creates the writer of one page or file. A writer counts records, so it can be used only once. */
export function createWriter(options: WriterOptions): RecordWriter {
  switch (options.format) {
    case 'json':
      return jsonWriter(options.page);
    case 'ndjson':
      return {
        contentType: 'application/x-ndjson',
        begin: () => EMPTY,
        records: (chunk, firstSeq) => Buffer.from(joined(numbered(chunk, firstSeq), '\n', '\n')),
        end: () => EMPTY,
      };
    case 'csv':
      return csvWriter(options);
    case 'md':
      return {
        contentType: 'text/markdown; charset=utf-8',
        begin: () => EMPTY,
        records: (chunk, firstSeq) => Buffer.from(parseChunk(chunk, firstSeq).map(markdownDocument).join('')),
        end: () => EMPTY,
      };
    default:
      return unreachable(options.format);
  }
}

function jsonWriter(page: WriterOptions['page']): RecordWriter {
  let written = 0;
  return {
    contentType: 'application/json',
    begin: () => Buffer.from(page === null ? '[' : '{"records":['),
    records(chunk, firstSeq) {
      const lines = numbered(chunk, firstSeq);
      if (lines.length === 0) return EMPTY;
      const text = `${written === 0 ? '' : ','}${lines.join(',')}`;
      written += lines.length;
      return Buffer.from(text);
    },
    end: () => Buffer.from(page === null ? ']' : `]${page.tail}}`),
  };
}

/**
 * Choice: only the page that starts with the job's first record, or the page of a job that ended without records, has the byte order mark
 * and the header. The concatenated pages are therefore one valid file.
 */
function csvWriter({ csv, columns }: WriterOptions): RecordWriter {
  return {
    contentType: 'text/csv; charset=utf-8',
    begin(isFirst) {
      if (!isFirst) return EMPTY;
      return Buffer.from(`${csv.bom ? BOM : ''}${csv.header ? csvHeader(columns, csv) : ''}`);
    },
    records: (chunk, firstSeq) => Buffer.from(csvRows(parseChunk(chunk, firstSeq), columns, csv)),
    end: () => EMPTY,
  };
}

/** Encodes shaped records in the storage format. */
export function encodeRecords(records: readonly JsonObject[]): Buffer {
  return Buffer.from(
    joined(
      records.map((record) => JSON.stringify(record)),
      '\n',
      '\n',
    ),
  );
}

/** Returns the records of a chunk from index `from` (0 is the first), at most `count` of them. The result is a view; nothing is copied. */
export function sliceRecords(chunk: Uint8Array, from: number, count: number): Uint8Array {
  const start = lineStart(chunk, 0, from);
  return chunk.subarray(start, lineStart(chunk, start, count));
}

/** Returns the offset of the line that is `lines` after `offset`; the chunk's end if there are fewer. */
function lineStart(chunk: Uint8Array, offset: number, lines: number): number {
  let at = offset;
  for (let line = 0; line < lines && at < chunk.length; line++) {
    const end = chunk.indexOf(LINE_FEED, at);
    at = end < 0 ? chunk.length : end + 1;
  }
  return at;
}

function joined(lines: readonly string[], between: string, last: string): string {
  return lines.length === 0 ? '' : `${lines.join(between)}${last}`;
}

/** Parses the records of a chunk. `firstSeq` as in `RecordWriter.records`. */
export function parseChunk(chunk: Uint8Array, firstSeq: number | null): readonly JsonObject[] {
  return numbered(chunk, firstSeq).map((line) => JSON.parse(line) as JsonObject);
}

/** `_meta` is a record's last member and is not empty, so each line ends in `}}`, and text inserted before that becomes part of `_meta`. */
function numbered(chunk: Uint8Array, firstSeq: number | null): readonly string[] {
  const lines = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('utf8').split('\n');
  if (lines.at(-1) === '') lines.pop();
  return firstSeq === null ? lines : lines.map((line, index) => `${line.slice(0, -2)},"seq":${firstSeq + index}}}`);
}
