import type { FileHandle } from 'node:fs/promises';
import type { ColumnDecoder, DataReader, DecodedArray, PageHeader } from 'hyparquet/src/types.js';
import { parquetHeader, readPage } from 'hyparquet/src/column.js';
import { convert, DEFAULT_PARSERS } from 'hyparquet/src/convert.js';
import { PARQUET_COMPRESSORS } from './parquet-codecs.ts';
import { PARQUET_PARSERS, ParquetFault, readExactly, type ParquetChunk, type ParquetColumn } from './parquet-file.ts';

/** Choice: writers make pages of 1 MB; DuckDB one of at most 100 MB for each column of a row group. */
const PAGE_BYTES_MAX = 128 * 2 ** 20;
/** Choice: four times the largest usual row group, whose constant column may be one page. */
const PAGE_VALUES_MAX = 4 * 2 ** 20;
/** Bytes that are read at once, so that small pages need few reads. */
const WINDOW_BYTES = 262_144;
/** Choice: a header has the smallest and largest value of its page, each as long as a value. */
const HEADER_BYTES_MAX = 16 * 2 ** 20;

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
      compressors: PARQUET_COMPRESSORS,
    };
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
      const { header, headerBytes } = await this.#readHeader();
      const pageBytes = headerBytes + header.compressed_page_size;
      const view = viewOf(await this.#ahead(pageBytes));
      this.#at += pageBytes;
      const reader = { view, offset: headerBytes };
      if (header.type === 'DICTIONARY_PAGE') {
        const { data } = readPage(reader, header, this.#decoder, undefined, undefined, 0);
        if (data !== undefined) this.#dictionary = convert(data, this.#decoder);
      } else if (header.type !== 'INDEX_PAGE' && valuesOf(header) > 0) {
        const { data } = readPage(reader, header, this.#decoder, this.#dictionary, undefined, 0);
        if (data?.length !== valuesOf(header)) throw new ParquetFault('has a page with other values than it declares');
        this.#values = data;
        this.#taken = 0;
      }
    }
    return this.#at - from;
  }

  async #readHeader(): Promise<{ readonly header: PageHeader; readonly headerBytes: number }> {
    const rest = this.#end - this.#at;
    for (let bytes = Math.min(rest, WINDOW_BYTES); ; bytes = Math.min(rest, bytes * 8)) {
      const reader: DataReader = { view: viewOf(await this.#ahead(bytes)), offset: 0 };
      try {
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

function valuesOf(header: PageHeader): number {
  return (header.data_page_header ?? header.data_page_header_v2 ?? header.dictionary_page_header)?.num_values ?? 0;
}

/** Refuses a page that declares more than can be held. `rest`: bytes of the column behind the header. */
function check(header: PageHeader, rest: number): void {
  if (!within(header.compressed_page_size, rest)) throw new ParquetFault('has a page that is longer than its column');
  if (!within(header.compressed_page_size, PAGE_BYTES_MAX) || !within(header.uncompressed_page_size, PAGE_BYTES_MAX))
    throw new ParquetFault(`has a page of more than ${PAGE_BYTES_MAX} bytes`);
  if (!within(valuesOf(header), PAGE_VALUES_MAX))
    throw new ParquetFault(`has a page of more than ${PAGE_VALUES_MAX} values`);
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
  return typeof value === 'number' && decimals !== null ? Number(value.toFixed(Math.min(decimals, 100))) : value;
}

function within(value: number, max: number): boolean {
  return value >= 0 && value <= max;
}
