import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import { ByteWriter, ParquetWriter, schemaFromColumnData, type BasicType } from 'hyparquet-writer';
import { guardedCell } from '../contract/csv-guard.ts';
import type { ExportFormat } from './export-formats.ts';
import { forTerminal } from './terminal-text.ts';

/** A terminal gets control characters of stored text escaped. */
type TextOutput = Writable & { readonly isTTY?: boolean };

/** Columns of an export in their order, with their types in Parquet. Every one but the first few may be null. */
export const EXPORT_COLUMNS = {
  customer_id: 'STRING',
  request_id: 'STRING',
  occurred_at_ms: 'INT64',
  event_type: 'STRING',
  decision: 'STRING',
  would_be: 'STRING',
  score: 'DOUBLE',
  session_mode: 'STRING',
  public_key: 'BOOLEAN',
  fingerprint_hash: 'STRING',
  ip: 'STRING',
  country: 'STRING',
  asn: 'INT64',
  path: 'STRING',
  reasons: 'JSON',
  agent: 'JSON',
  location: 'JSON',
  links: 'JSON',
  outcome: 'STRING',
  label: 'STRING',
  labelled_at: 'INT64',
  features: 'JSON',
  label_source: 'STRING',
  features_kept: 'STRING',
  features_rate: 'DOUBLE',
  policy_version: 'STRING',
  model_version: 'STRING',
  model_probability: 'DOUBLE',
} as const satisfies Readonly<Record<string, BasicType>>;

export type ExportColumn = keyof typeof EXPORT_COLUMNS;
export type ExportRow = Readonly<Record<ExportColumn, unknown>>;
const COLUMNS = Object.keys(EXPORT_COLUMNS) as ExportColumn[];

/** Writes rows of an export in one format. `drain` waits for a slow reader of the output. */
export interface ExportWriter {
  add(row: ExportRow): void;
  drain(): Promise<void>;
  /** Writes what is still missing; no row may follow. */
  end(): Promise<void>;
}

/** `groupRows`: rows of a group of Parquet. */
export function openExportWriter(format: ExportFormat, output: TextOutput, groupRows = GROUP_ROWS): ExportWriter {
  const pieces = new Pieces(output);
  if (format === 'parquet') return new ParquetRows(pieces, groupRows);
  if (format === 'csv') pieces.add(stringify([COLUMNS]));
  const lineOf = format === 'csv' ? csvLine : (row: ExportRow): string => `${JSON.stringify(row)}\n`;
  return { add: (row) => pieces.add(lineOf(row)), drain: () => pieces.drain(), end: () => pieces.end() };
}

function csvLine(row: ExportRow): string {
  return stringify([COLUMNS.map((column) => cellOf(row[column]))]);
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return JSON.stringify(value);
  return guardedCell(value);
}

/** Choice: rows of a group of Parquet, some 10 MB in memory; readers skip whole groups, so larger ones help little. */
const GROUP_ROWS = 10_000;

/** Parquet, group by group: the command holds one group. */
class ParquetRows implements ExportWriter {
  readonly #pieces: Pieces;
  readonly #groupRows: number;
  readonly #bytes = new ByteWriter();
  readonly #file = new ParquetWriter({ writer: this.#bytes, schema: SCHEMA, createdBy: 'gatehouse' });
  #rows: ExportRow[] = [];

  constructor(pieces: Pieces, groupRows: number) {
    this.#pieces = pieces;
    this.#groupRows = groupRows;
  }

  add(row: ExportRow): void {
    this.#rows.push(row);
    if (this.#rows.length >= this.#groupRows) this.#writeGroup();
  }

  drain(): Promise<void> {
    return this.#pieces.drain();
  }

  async end(): Promise<void> {
    if (this.#rows.length > 0) this.#writeGroup();
    void this.#file.finish();
    this.#handOver();
    await this.#pieces.end();
  }

  #writeGroup(): void {
    const rows = this.#rows;
    this.#rows = [];
    const columnData = COLUMNS.map((name) => ({ name, data: rows.map((row) => parquetValue(name, row[name])) }));
    void this.#file.write({ columnData, rowGroupSize: rows.length });
    this.#handOver();
  }

  /** The writer counts its position in the file apart from its buffer, which can therefore be emptied. */
  #handOver(): void {
    this.#pieces.add(Buffer.from(this.#bytes.getBytes()));
    this.#bytes.index = 0;
  }
}

const SCHEMA = schemaFromColumnData({
  columnData: COLUMNS.map((name) => ({ name, type: EXPORT_COLUMNS[name], nullable: true, data: [] })),
});

function parquetValue(column: ExportColumn, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  return EXPORT_COLUMNS[column] === 'INT64' ? BigInt(value as number) : value;
}

/** Choice: bytes that are collected before they are written; with one block of the log, this is what the command holds. */
const PIECE_BYTES = 65_536;

/** Collects short texts, and waits for a slow reader. */
class Pieces {
  readonly #output: TextOutput;
  #waiting: (string | Buffer)[] = [];
  #length = 0;
  #isFull = false;

  constructor(output: TextOutput) {
    this.#output = output;
  }

  add(piece: string | Buffer): void {
    this.#waiting.push(piece);
    this.#length += piece.length;
    if (this.#length >= PIECE_BYTES) this.#flush();
  }

  async drain(): Promise<void> {
    if (this.#isFull) await once(this.#output, 'drain');
    this.#isFull = false;
  }

  end(): Promise<void> {
    this.#flush();
    return this.drain();
  }

  #flush(): void {
    if (this.#length === 0) return;
    const pieces = this.#waiting;
    const isText = pieces.every((piece) => typeof piece === 'string');
    const text = isText ? pieces.join('') : null;
    this.#isFull = !this.#output.write(
      text === null
        ? Buffer.concat(pieces.map((piece) => Buffer.from(piece)))
        : this.#output.isTTY === true
          ? forTerminal(text)
          : text,
    );
    this.#waiting = [];
    this.#length = 0;
  }
}
