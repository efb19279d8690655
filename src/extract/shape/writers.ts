import { unreachable } from '../../base/brand.ts';
import type { OutputFormat } from '../../core/extraction.ts';
import type { JsonObject } from '../connector.ts';
import { csvHeader, csvRows, type CsvOptions } from './csv.ts';
import type { Leaf } from './flatten.ts';

/**
 * Records are stored as NDJSON, a chunk for each step. A writer turns chunk after chunk into the bytes of a page or a file of one
 * format; it holds a chunk at most, however many there are.
 */
export interface RecordWriter {
  /** `content-type` of what it writes. */
  readonly contentType: string;
  /**
   * What stands before the first record. `isFirst`: of a page, whether it begins with the job's first record, or is the only one of
   * a job that has ended without any.
   */
  begin(isFirst: boolean): Buffer;
  /**
   * The bytes of a chunk's records. Where `firstSeq` is given, the records have no `_meta.seq` as yet, and get theirs from it on.
   */
  records(chunk: Uint8Array, firstSeq: number | null): Buffer;
  /** What stands behind the last. */
  end(): Buffer;
}

export interface WriterOptions {
  readonly format: OutputFormat;
  readonly csv: CsvOptions;
  /** Of the job's shaper. */
  readonly columns: readonly Leaf[];
  /**
   * What a JSON page has around its records, or null for a file: a plain array. The text is put behind the records' array, for
   * example `,"has_more":false,"next_cursor":null`.
   */
  readonly page: { readonly tail: string } | null;
}

const EMPTY = Buffer.alloc(0);
const BOM = '\uFEFF';
const LINE_FEED = 0x0a;

/** Of one page or file; a writer counts, so it serves once. */
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
 * Choice: byte order mark and header stand on the page that begins with the job's first record alone, or on that of a job that has
 * ended without one, so that the pages, put one behind the other, are one file.
 */
function csvWriter({ csv, columns }: WriterOptions): RecordWriter {
  return {
    contentType: 'text/csv; charset=utf-8',
    begin(isFirst) {
      if (!isFirst) return EMPTY;
      return Buffer.from(`${csv.bom ? BOM : ''}${csv.header ? csvHeader(columns, csv) : ''}`);
    },
    records: (chunk, firstSeq) =>
      Buffer.from(
        csvRows(
          numbered(chunk, firstSeq).map((line) => JSON.parse(line) as JsonObject),
          columns,
          csv,
        ),
      ),
    end: () => EMPTY,
  };
}

/** The stored form of shaped records. */
export function encodeRecords(records: readonly JsonObject[]): Buffer {
  return Buffer.from(
    joined(
      records.map((record) => JSON.stringify(record)),
      '\n',
      '\n',
    ),
  );
}

/** The part of a chunk from its record `from` on (0 is the first), `count` of them at most; a view, nothing is copied. */
export function sliceRecords(chunk: Uint8Array, from: number, count: number): Uint8Array {
  const start = lineStart(chunk, 0, from);
  return chunk.subarray(start, lineStart(chunk, start, count));
}

/** Where the line begins that lies `lines` behind `offset`; the chunk's end when there are not so many. */
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

/** `_meta` is a record's last member and has members, so a line ends in `}}`, and what is put before that is `_meta`'s. */
function numbered(chunk: Uint8Array, firstSeq: number | null): readonly string[] {
  const lines = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('utf8').split('\n');
  if (lines.at(-1) === '') lines.pop();
  return firstSeq === null ? lines : lines.map((line, index) => `${line.slice(0, -2)},"seq":${firstSeq + index}}}`);
}
