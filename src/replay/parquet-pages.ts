import type { FileHandle } from 'node:fs/promises';
import type { ColumnDecoder, DataReader, DecodedArray, PageHeader } from 'hyparquet/src/types.js';
import { parquetHeader, readPage } from 'hyparquet/src/column.js';
import { convert, DEFAULT_PARSERS } from 'hyparquet/src/convert.js';
import { getMaxDefinitionLevel } from 'hyparquet/src/schema.js';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { checkRuns, checkThrift, checkValues, cursorOver, PARQUET_PAGE_BYTES_MAX } from './parquet-bounds.ts';
import { decompressed } from './parquet-codecs.ts';
import { ParquetFault } from './parquet-fault.ts';
import { PARQUET_PARSERS, readExactly, type ParquetChunk, type ParquetColumn } from './parquet-file.ts';

/** Choice: four times the largest usual row group, whose constant column may be one page. */
const PAGE_VALUES_MAX = 4 * 2 ** 20;
/** Bytes that are read at once, so that small pages need few reads. */
const WINDOW_BYTES = 262_144;
/** Choice: a header has the smallest and largest value of its page, each as long as a value. */
const HEADER_BYTES_MAX = 16 * 2 ** 20;
/** A header has some 20 fields, of which a newer version of the format may have more. */
const HEADER_ELEMENTS_MAX = 1_000;
/** Choice: a value of a page is a number or a short text, in an array. */
const HELD_BYTES_PER_VALUE = 32;

/** Reads the values of a column in a row group, one page at a time. */
export class ParquetValues {
  readonly #file: FileHandle;
  readonly #column: ParquetColumn;
  readonly #decoder: ColumnDecoder;
  readonly #end: number;
  #at: number;
  #window: Buffer = Buffer.alloc(0);
  /** Position of the window in the file. */
  #windowAt = 0;
  #dictionary: DecodedArray | undefined;
  #values: DecodedArray = [];
  #taken = 0;
  /** Pages so far, and what the present page and the dictionary take of memory, roughly. */
  #pages = 0;
  #valueBytes = 0;
  #dictionaryBytes = 0;

  constructor(file: FileHandle, column: ParquetColumn, { metadata, from, to }: ParquetChunk) {
    this.#file = file;
    this.#column = column;
    this.#at = from;
    this.#end = to;
    this.#decoder = {
      pathInSchema: [...metadata.path_in_schema],
      type: metadata.type,
      element: column.element,
      schemaPath: [...column.schemaPath],
      codec: metadata.codec,
      parsers: { ...DEFAULT_PARSERS, ...PARQUET_PARSERS },
      compressors: {},
    };
  }

  /** Number of the present page in the column, from 1. */
  get page(): number {
    return this.#pages;
  }

  /** Memory of what is decoded, roughly. */
  get heldBytes(): number {
    return this.#valueBytes + this.#dictionaryBytes;
  }

  /** Values of the current page that were not taken. */
  get left(): number {
    return this.#values.length - this.#taken;
  }

  /** Returns the next value; undefined without one. */
  take(): unknown {
    return plainValue(this.#values[this.#taken++], this.#column.element.scale ?? null);
  }

  /** Loads the next page with values and returns its bytes. Throws `ParquetFault` at the end of the column. */
  async load(): Promise<number> {
    const from = this.#at;
    while (this.left === 0) {
      if (this.#at >= this.#end) throw new ParquetFault('has fewer values than the row group has rows');
      this.#pages++;
      const { header, headerBytes } = await this.#readHeader();
      const pageBytes = headerBytes + header.compressed_page_size;
      const ahead = await this.#ahead(pageBytes);
      this.#at += pageBytes;
      if (header.type !== 'INDEX_PAGE' && valuesOf(header) > 0)
        this.#decode(header, ahead.subarray(headerBytes, pageBytes));
    }
    return this.#at - from;
  }

  /** Decompresses the page and checks it, then lets the reader decode it. */
  #decode(header: PageHeader, compressed: Buffer): void {
    const { codec, element, type } = this.#decoder;
    const bytes = pageBytesOf(header, compressed, codec);
    const plain = { ...this.#decoder, codec: 'UNCOMPRESSED' as const };
    const values = valuesOf(header);
    const form = {
      type,
      typeLength: element.type_length ?? 0,
      isDecimal: element.converted_type === 'DECIMAL',
      isV2: header.type === 'DATA_PAGE_V2',
    };
    const whole = wholeHeader(header, bytes.length);
    const reader: DataReader = { view: viewOf(bytes), offset: 0 };
    const heldBytes = bytes.length + HELD_BYTES_PER_VALUE * values;
    if (header.type === 'DICTIONARY_PAGE') {
      checkValues({ bytes, at: 0, count: values, encoding: 'PLAIN', ...form });
      const { data } = readPage(reader, whole, plain, undefined, undefined, 0);
      if (data === undefined) return;
      this.#dictionary = convert(data, plain);
      this.#dictionaryBytes = heldBytes;
      return;
    }
    const levels = levelsOf(header, bytes, getMaxDefinitionLevel([...this.#column.schemaPath]));
    const encoding = (header.data_page_header ?? header.data_page_header_v2)?.encoding ?? '';
    checkValues({ bytes, at: levels.end, count: values - levels.nulls, encoding, ...form });
    const { data } = readPage(reader, whole, plain, this.#dictionary, undefined, 0);
    if (data?.length !== values)
      throw new ParquetFault(`declares ${values} values in a page and has ${data?.length ?? 0}`);
    this.#values = data;
    this.#valueBytes = heldBytes;
    this.#taken = 0;
  }

  async #readHeader(): Promise<{ readonly header: PageHeader; readonly headerBytes: number }> {
    const rest = this.#end - this.#at;
    for (let bytes = Math.min(rest, WINDOW_BYTES); ; bytes = Math.min(rest, bytes * 8)) {
      const ahead = await this.#ahead(bytes);
      const reader: DataReader = { view: viewOf(ahead), offset: 0 };
      try {
        checkThrift(cursorOver(ahead), HEADER_ELEMENTS_MAX);
        const header = parquetHeader(reader);
        check(header, rest - reader.offset);
        return { header, headerBytes: reader.offset };
      } catch (error) {
        if (error instanceof ParquetFault || bytes >= Math.min(rest, HEADER_BYTES_MAX)) throw error;
      }
    }
  }

  /** Returns at least `bytes` bytes from the position on. Windows are never written twice: values may be views of them. */
  async #ahead(bytes: number): Promise<Buffer> {
    const skipped = this.#at - this.#windowAt;
    if (skipped + bytes > this.#window.length || this.#window.length === 0) {
      const length = Math.min(this.#end - this.#at, Math.max(bytes, WINDOW_BYTES));
      this.#window = await readExactly(this.#file, this.#at, length);
      this.#windowAt = this.#at;
    }
    return this.#window.subarray(this.#at - this.#windowAt);
  }
}

function viewOf(bytes: Buffer): DataView<ArrayBuffer> {
  return new DataView(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
}

/** Returns the levels, which version 2 of pages never compresses, and the values of a page without compression. */
function pageBytesOf(header: PageHeader, compressed: Buffer, codec: ColumnDecoder['codec']): Buffer {
  const v2 = header.data_page_header_v2;
  if (v2 === undefined || header.type !== 'DATA_PAGE_V2')
    return bufferOf(decompressed(codec, compressed, header.uncompressed_page_size));
  const levels = v2.repetition_levels_byte_length + v2.definition_levels_byte_length;
  if (v2.is_compressed === false) return compressed;
  const values = decompressed(codec, compressed.subarray(levels), header.uncompressed_page_size - levels);
  return Buffer.concat([compressed.subarray(0, levels), values]);
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Returns the header of the page after it was decompressed. */
function wholeHeader(header: PageHeader, bytes: number): PageHeader {
  const v2 = header.data_page_header_v2;
  const sizes = { compressed_page_size: bytes, uncompressed_page_size: bytes };
  return { ...header, ...sizes, ...(v2 !== undefined && { data_page_header_v2: { ...v2, is_compressed: false } }) };
}

/** Checks the definition levels of a page. Returns where they end, and the number of nulls. */
function levelsOf(
  { type, ...header }: PageHeader,
  bytes: Buffer,
  level: number,
): { readonly end: number; readonly nulls: number } {
  const v2 = header.data_page_header_v2;
  const width = 32 - Math.clz32(level);
  if (type === 'DATA_PAGE_V2' && v2 !== undefined) {
    const from = cursorOver(bytes, v2.repetition_levels_byte_length);
    const end = from.at + v2.definition_levels_byte_length;
    if (level > 0) checkRuns(from, { end, width, count: v2.num_values });
    return { end, nulls: v2.num_nulls };
  }
  const count = header.data_page_header?.num_values ?? 0;
  if (level === 0) return { end: 0, nulls: 0 };
  const length = bytes.readUInt32LE(0);
  const end = 4 + length;
  if (end > bytes.length) throw new ParquetFault(`declares ${length} bytes of levels in a page of ${bytes.length}`);
  checkRuns(cursorOver(bytes, 4), { end, width, count });
  const levels = new Uint8Array(count);
  readRleBitPackedHybrid({ view: viewOf(bytes), offset: 4 }, width, levels, length);
  return { end, nulls: count - levels.reduce((sum, one) => sum + (one === level ? 1 : 0), 0) };
}

function valuesOf(header: PageHeader): number {
  return (header.data_page_header ?? header.data_page_header_v2 ?? header.dictionary_page_header)?.num_values ?? 0;
}

/** Refuses a page that declares more than can be held. `rest`: bytes of the column behind the header. */
function check(header: PageHeader, rest: number): void {
  if (!within(header.compressed_page_size, rest))
    throw new ParquetFault(`declares a page of ${header.compressed_page_size} bytes where ${rest} are left`);
  if (
    !within(header.compressed_page_size, PARQUET_PAGE_BYTES_MAX) ||
    !within(header.uncompressed_page_size, PARQUET_PAGE_BYTES_MAX)
  )
    throw new ParquetFault(
      `declares a page of ${header.uncompressed_page_size} bytes; at most ${PARQUET_PAGE_BYTES_MAX} are read at once`,
    );
  if (!within(valuesOf(header), PAGE_VALUES_MAX))
    throw new ParquetFault(
      `declares a page of ${valuesOf(header)} values; at most ${PAGE_VALUES_MAX} are read at once`,
    );
  const page = header.data_page_header ?? header.data_page_header_v2;
  const isDictionary = header.type === 'DICTIONARY_PAGE' && header.dictionary_page_header !== undefined;
  if (page?.encoding === undefined && !isDictionary && header.type !== 'INDEX_PAGE')
    throw new ParquetFault('has a page without an encoding');
  const v2 = header.data_page_header_v2;
  // The reader would read missing lengths for ever.
  if (v2 !== undefined) {
    const levels = v2.repetition_levels_byte_length + v2.definition_levels_byte_length;
    const isWithin =
      within(v2.num_nulls, v2.num_values) &&
      within(v2.repetition_levels_byte_length, levels) &&
      within(levels, Math.min(header.compressed_page_size, header.uncompressed_page_size));
    if (!isWithin) throw new ParquetFault('has a page whose parts are longer than the page');
  }
}

/** Returns a text, a number or a boolean; undefined for nulls, NaN (as pandas writes nulls) and empty texts. */
function plainValue(given: unknown, decimals: number | null): unknown {
  let value = given;
  // Each optional group around a value is a list of one.
  while (Array.isArray(value)) value = value[0];
  if (value === null || value === '' || Number.isNaN(value)) return undefined;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return typeof value === 'number' && decimals !== null
    ? Number(value.toFixed(Math.max(0, Math.min(decimals, 100))))
    : value;
}

function within(value: number, max: number): boolean {
  return value >= 0 && value <= max;
}
