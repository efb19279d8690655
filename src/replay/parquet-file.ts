import type { FileHandle } from 'node:fs/promises';
import type { ColumnMetaData, FileMetaData, ParquetParsers, SchemaElement, SchemaTree } from 'hyparquet';
import { parquetMetadata, parquetSchema } from 'hyparquet';
import { checkThrift, cursorOver } from './parquet-bounds.ts';
import { unreadableCodec } from './parquet-codecs.ts';
import { ParquetFault } from './parquet-fault.ts';

/** The description at the end of a Parquet file, checked before a page is read. Nothing that a file declares is believed unbounded. */

/** A column of single values. */
export interface ParquetColumn {
  /** Members of nested groups have names with dots, as in NDJSON. */
  readonly name: string;
  readonly element: SchemaElement;
  readonly schemaPath: readonly SchemaTree[];
  /** Position among the chunks of a row group. */
  readonly index: number;
}

export interface ParquetGroup {
  readonly rows: number;
  readonly chunks: readonly ParquetChunk[];
}

/** Bytes of a column in a row group. */
export interface ParquetChunk {
  readonly metadata: ColumnMetaData;
  /** Range of bytes in the file. */
  readonly from: number;
  readonly to: number;
}

export interface ParquetFile {
  readonly columns: readonly ParquetColumn[];
  /** Names of columns with lists, maps or types that have no single value; they are not read. */
  readonly leftOut: readonly string[];
  readonly groups: readonly ParquetGroup[];
}

/** `PAR1` begins and ends a file; `PARE` ends one whose footer is encrypted. */
const MAGIC = 'PAR1';
const MAGIC_ENCRYPTED = 'PARE';
const MAGIC_BYTES = 4;
/** Length of the footer and the last `PAR1`. */
const TAIL_BYTES = 8;
/** Choice: 250,000 parts of columns, of some 200 bytes with statistics. */
const FOOTER_BYTES_MAX = 64 * 2 ** 20;
/** Choice: a part of a column has some 30. Measured: an element takes up to 60 bytes of memory. */
const FOOTER_ELEMENTS_MAX = 8_000_000;
const COLUMNS_MAX = 4_096;
/** Choice: rows without a value cost no bytes, so that a small file may declare any number. */
const ROWS_MAX = 1e9;

/** Reads the description of a file of `bytes` bytes. Throws `ParquetFault`. */
export async function describeParquet(file: FileHandle, bytes: number): Promise<ParquetFile> {
  const metadata = await readFooter(file, bytes);
  if (metadata.schema.length > COLUMNS_MAX) throw new ParquetFault(`has more than ${COLUMNS_MAX} columns`);
  const { columns, leftOut } = columnsOf(metadata);
  const groups = metadata.row_groups.map((group, at): ParquetGroup => {
    const rows = Number(group.num_rows);
    if (!(rows >= 0)) throw new ParquetFault(`declares ${rows} rows in row group ${at + 1}`);
    const chunks = group.columns.map(({ meta_data: chunk, file_path: path, crypto_metadata: crypto }) => {
      if (crypto !== undefined || chunk === undefined) throw new ParquetFault('has encrypted columns');
      if (path !== undefined) throw new ParquetFault('has its columns in other files');
      return { metadata: chunk, ...rangeOf(chunk, bytes) };
    });
    for (const { index, name, element } of columns) {
      const chunk = chunks[index];
      if (chunk === undefined || chunk.metadata.type !== element.type)
        throw new ParquetFault(`has no column "${name}" in row group ${at + 1}`);
      const fault = unreadableCodec(chunk.metadata.codec);
      if (fault !== null) throw new ParquetFault(`has column "${name}" compressed with ${fault}`);
    }
    return { rows, chunks };
  });
  const rows = groups.reduce((sum, group) => sum + group.rows, 0);
  if (rows > ROWS_MAX) throw new ParquetFault(`declares ${rows} rows; at most ${ROWS_MAX} are read`);
  const claimed = groups.flatMap(({ chunks }) => chunks).reduce((sum, { from, to }) => sum + to - from, 0);
  if (claimed > bytes) throw new ParquetFault(`declares columns of ${claimed} bytes in a file of ${bytes}`);
  return { columns, leftOut, groups };
}

async function readFooter(file: FileHandle, bytes: number): Promise<FileMetaData> {
  if (bytes < MAGIC_BYTES + TAIL_BYTES) throw new ParquetFault('is not a Parquet file');
  const tail = await readExactly(file, bytes - TAIL_BYTES, TAIL_BYTES);
  const first = (await readExactly(file, 0, MAGIC_BYTES)).toString('latin1');
  const last = tail.toString('latin1', TAIL_BYTES - MAGIC_BYTES);
  if (first === MAGIC_ENCRYPTED || last === MAGIC_ENCRYPTED) throw new ParquetFault('is encrypted');
  if (first !== MAGIC) throw new ParquetFault('is not a Parquet file');
  if (last !== MAGIC) throw new ParquetFault('is cut off: a Parquet file ends with its description, which is missing');
  const footerBytes = tail.readUInt32LE(0);
  if (footerBytes > Math.min(FOOTER_BYTES_MAX, bytes - MAGIC_BYTES - TAIL_BYTES))
    throw new ParquetFault(`declares a description of ${footerBytes} bytes`);
  const footer = await readExactly(file, bytes - TAIL_BYTES - footerBytes, footerBytes + TAIL_BYTES);
  try {
    checkThrift(cursorOver(footer.subarray(0, footerBytes)), FOOTER_ELEMENTS_MAX);
    return parquetMetadata(footer, { parsers: PARQUET_PARSERS, geoparquet: false });
  } catch (error) {
    if (error instanceof ParquetFault) throw error;
    throw new ParquetFault(`has a damaged description (${error instanceof Error ? error.message : String(error)})`);
  }
}

/** Returns leaves without repetition. The chunks of a row group have the order of all leaves. */
function columnsOf(metadata: FileMetaData): { readonly columns: ParquetColumn[]; readonly leftOut: string[] } {
  const columns: ParquetColumn[] = [];
  const leftOut: string[] = [];
  let index = 0;
  const visit = (node: SchemaTree, path: readonly SchemaTree[]): void => {
    const schemaPath = [...path, node];
    for (const child of node.children) visit(child, schemaPath);
    if (node.children.length > 0) return;
    const element = withConvertedType(node.element);
    const name = node.path.join('.');
    const isSingle = schemaPath.every((step) => step.element.repetition_type !== 'REPEATED');
    if (isSingle && isReadable(element) && columns.every((column) => column.name !== name))
      columns.push({ name, element, schemaPath, index });
    else leftOut.push(name);
    index++;
  };
  try {
    const root = parquetSchema(metadata);
    for (const child of root.children) visit(child, [root]);
  } catch (error) {
    throw new ParquetFault(`has a damaged description (${error instanceof Error ? error.message : String(error)})`);
  }
  return { columns, leftOut };
}

/** The reader converts decimals and days by the older of the two notations; some files have the newer one alone. */
function withConvertedType(element: SchemaElement): SchemaElement {
  const logical = element.logical_type;
  if (element.converted_type !== undefined || logical === undefined) return element;
  if (logical.type === 'DATE') return { ...element, converted_type: 'DATE' };
  return logical.type === 'DECIMAL' ? { ...element, converted_type: 'DECIMAL', scale: logical.scale } : element;
}

function isReadable({ type, converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  if (type === undefined || converted === 'BSON' || converted === 'INTERVAL') return false;
  return !['VARIANT', 'GEOMETRY', 'GEOGRAPHY'].includes(logical?.type ?? '');
}

function rangeOf(chunk: ColumnMetaData, bytes: number): { readonly from: number; readonly to: number } {
  const pages = Number(chunk.data_page_offset);
  const dictionary = Number(chunk.dictionary_page_offset ?? 0n);
  const from = dictionary > 0 ? Math.min(dictionary, pages) : pages;
  const to = from + Number(chunk.total_compressed_size);
  if (!(from >= MAGIC_BYTES && to >= from && to <= bytes - TAIL_BYTES))
    throw new ParquetFault('is cut off or damaged: a column lies outside of the file');
  return { from, to };
}

export async function readExactly(file: FileHandle, from: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(length);
  let at = 0;
  while (at < length) {
    const { bytesRead } = await file.read(buffer, at, length - at, from + at);
    if (bytesRead === 0) throw new ParquetFault('is cut off');
    at += bytesRead;
  }
  return buffer;
}

/** The last time that a `Date` can have, in Unix ms. */
const DATE_MS_MAX = 8.64e15;

function isoTime(ms: number): string | undefined {
  return Math.abs(ms) <= DATE_MS_MAX ? new Date(ms).toISOString() : undefined;
}

/** Times are ISO 8601 in UTC, as most CSV files have them. JSON stays text. */
export const PARQUET_PARSERS: Partial<ParquetParsers> = {
  timestampFromMilliseconds: (ms: bigint) => isoTime(Number(ms)),
  timestampFromMicroseconds: (us: bigint) => isoTime(Number(us / 1_000n)),
  timestampFromNanoseconds: (ns: bigint) => isoTime(Number(ns / 1_000_000n)),
  dateFromDays: (days: number) => isoTime(days * 86_400_000),
  jsonFromBytes: (bytes: Uint8Array) => Buffer.from(bytes).toString(),
};
