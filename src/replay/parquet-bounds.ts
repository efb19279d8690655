import { deltaBinaryUnpack } from 'hyparquet/src/delta.js';
import { ParquetFault } from './parquet-fault.ts';

/**
 * Checks of Parquet bytes before the reader decodes them. The reader trusts what a file declares: a run of a billion values, a list of a
 * billion elements or a prefix that is repeated for each value becomes memory, and a number of a million digits becomes hours. Everything
 * here takes time in proportion to the bytes and the declared values, and memory for the lengths of one page.
 * Source: the encodings of the Parquet format, and Thrift's compact protocol.
 */

/** Choice: as a row of a CSV file. */
export const VALUE_BYTES_MAX = 1_048_576;
/** Choice: twice the longest decimal that is usual, 38 digits. The reader's time rises with the square. */
const DECIMAL_BYTES_MAX = 32;
/** Choice: of a page, decoded. */
export const PARQUET_PAGE_BYTES_MAX = 128 * 2 ** 20;
/** A varint of 64 bits. */
const VARINT_BYTES_MAX = 10;
const VARINT_BYTES_MAX_32 = 5;
const THRIFT_DEPTH_MAX = 32;
const FIELD_ID_MAX = 32_767;
/** Groups of 8 values in a bit-packed run; some writers fill up a run to 63. */
const PADDED_VALUES_MAX = 504;
const BIT_WIDTH_MAX = 32;
const DELTA_BIT_WIDTH_MAX = 64;
const DELTA_BLOCK_MAX = 65_536;

/** A position in bytes. Reading behind the end throws a `RangeError`. */
export interface ByteCursor {
  readonly view: DataView;
  at: number;
}

export function cursorOver(bytes: Uint8Array, at = 0): ByteCursor {
  return { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), at };
}

/** Reads up to 32 bits, as the reader does, without bits beyond. */
function varint(from: ByteCursor): number {
  let value = 0;
  for (let n = 0; n < VARINT_BYTES_MAX_32; n++) {
    const byte = from.view.getUint8(from.at++);
    value += (byte & 0x7f) * 2 ** (7 * n);
    if (byte < 0x80) return value;
  }
  throw new ParquetFault('has a number of more than 32 bits');
}

function skipVarint(from: ByteCursor): void {
  for (let n = 0; n < VARINT_BYTES_MAX; n++) if (from.view.getUint8(from.at++) < 0x80) return;
  throw new ParquetFault('has a number of more than 64 bits');
}

/** What a description may have, and what it has so far. */
interface ThriftBudget {
  readonly max: number;
  elements: number;
}

/**
 * Steps over a structure of Thrift's compact protocol. Throws `ParquetFault` for one with more than `elementsMax` fields and elements, and
 * a `RangeError` where it ends before its end.
 */
export function checkThrift(from: ByteCursor, elementsMax: number): void {
  checkStruct(from, { max: elementsMax, elements: 0 }, 0);
}

function checkStruct(from: ByteCursor, budget: ThriftBudget, depth: number): void {
  if (depth > THRIFT_DEPTH_MAX) throw new ParquetFault(`has a description nested deeper than ${THRIFT_DEPTH_MAX}`);
  let field = 0;
  for (;;) {
    const head = from.view.getUint8(from.at++);
    const type = head & 0x0f;
    if (type === 0) return;
    if (head >> 4 > 0) field += head >> 4;
    else {
      const zigzag = varint(from);
      field = zigzag % 2 === 0 ? zigzag / 2 : -1;
    }
    if (field < 0 || field > FIELD_ID_MAX) throw new ParquetFault('has a description with a field of no meaning');
    spend(budget, 1);
    checkElement(from, type, budget, depth, true);
  }
}

function checkElement(from: ByteCursor, type: number, budget: ThriftBudget, depth: number, isField: boolean): void {
  switch (type) {
    case 1:
    case 2:
      // A boolean field is its type; in a list it is a byte.
      if (!isField) from.at++;
      return;
    case 3:
      from.at++;
      return;
    case 4:
    case 5:
      void varint(from);
      return;
    case 6:
      skipVarint(from);
      return;
    case 7:
      from.at += 8;
      return;
    case 8: {
      const length = varint(from);
      from.at += length;
      if (from.at > from.view.byteLength) throw new RangeError('a text ends behind the end');
      return;
    }
    case 9: {
      const head = from.view.getUint8(from.at++);
      const size = head >> 4 === 15 ? varint(from) : head >> 4;
      spend(budget, size);
      for (let n = 0; n < size; n++) checkElement(from, head & 0x0f, budget, depth + 1, false);
      return;
    }
    case 12:
      checkStruct(from, budget, depth + 1);
      return;
    default:
      throw new ParquetFault(`has a description with a value of the unknown type ${type}`);
  }
}

function spend(budget: ThriftBudget, elements: number): void {
  budget.elements += elements;
  if (budget.elements > budget.max)
    throw new ParquetFault(`declares ${budget.elements} elements in a description; at most ${budget.max} are read`);
}

/** Steps over runs of `count` values of `width` bits, which end before `end`. */
export function checkRuns(
  from: ByteCursor,
  { end, width, count }: { readonly end: number; readonly width: number; readonly count: number },
): void {
  if (width > BIT_WIDTH_MAX) throw new ParquetFault(`has numbers of ${width} bits; at most ${BIT_WIDTH_MAX} are read`);
  for (let seen = 0; seen < count;) {
    if (from.at >= end) throw new ParquetFault(`has ${seen} values in its runs instead of ${count}`);
    const head = varint(from);
    const isPacked = head % 2 === 1;
    const values = Math.floor(head / 2) * (isPacked ? 8 : 1);
    const left = count - seen;
    if (values > left + (isPacked ? PADDED_VALUES_MAX : 0))
      throw new ParquetFault(`has a run of ${values} values where ${left} are left`);
    from.at += isPacked ? Math.ceil((Math.min(values, left) * width) / 8) : Math.ceil(width / 8);
    if (from.at > end) throw new ParquetFault('has a run that is longer than the page');
    if (isPacked) from.at += Math.ceil((Math.max(0, values - left) * width) / 8);
    seen += values;
  }
}

/** What the values of a page are, and where they are. */
export interface PageValues {
  /** Decompressed. */
  readonly bytes: Uint8Array;
  /** Where the values begin. */
  readonly at: number;
  /** Values that are not null. */
  readonly count: number;
  readonly encoding: string;
  readonly type: string;
  /** Bytes of a value, for FIXED_LEN_BYTE_ARRAY. */
  readonly typeLength: number;
  readonly isDecimal: boolean;
  /** Version 2 of pages. */
  readonly isV2: boolean;
}

const WIDTHS: Readonly<Record<string, number>> = { INT32: 4, INT64: 8, INT96: 12, FLOAT: 4, DOUBLE: 8 };

/** Checks the values of a page. Throws `ParquetFault`, or a `RangeError` where they end too early. */
export function checkValues(page: PageValues): void {
  const { bytes, at, count, encoding, type, typeLength } = page;
  if (count < 0) throw new ParquetFault(`declares ${count} values`);
  if (count === 0) return;
  const from = cursorOver(bytes, at);
  if (type === 'FIXED_LEN_BYTE_ARRAY') checkLength(page, typeLength);
  switch (encoding) {
    case 'PLAIN':
      if (type === 'BYTE_ARRAY') checkPlainTexts(from, page);
      else checkRoom(page, type === 'BOOLEAN' ? Math.ceil(count / 8) : count * (WIDTHS[type] ?? typeLength));
      return;
    case 'BYTE_STREAM_SPLIT':
      checkRoom(page, count * (WIDTHS[type] ?? typeLength));
      return;
    case 'RLE':
      // The reader takes other numbers for dictionary indexes.
      if (type !== 'BOOLEAN') throw new ParquetFault(`has the encoding RLE for values of the type ${type}`);
      from.at += 4;
      checkRuns(from, { end: bytes.length, width: 1, count });
      return;
    case 'PLAIN_DICTIONARY':
    case 'RLE_DICTIONARY': {
      if (type === 'BOOLEAN') throw new ParquetFault(`has the encoding ${encoding} for values of the type BOOLEAN`);
      const width = from.view.getUint8(from.at++);
      // Indexes without bits are all 0; version 1 of pages has no runs of them.
      if (width > 0 || page.isV2) checkRuns(from, { end: bytes.length, width, count });
      return;
    }
    case 'DELTA_BINARY_PACKED':
      checkDeltas(from, count);
      return;
    case 'DELTA_LENGTH_BYTE_ARRAY':
      sumOfTexts(page, null, deltaLengths(from, count), from.at);
      return;
    case 'DELTA_BYTE_ARRAY': {
      const prefixes = deltaLengths(from, count);
      sumOfTexts(page, prefixes, deltaLengths(from, count), from.at);
      return;
    }
    default:
      throw new ParquetFault(`has the unknown encoding ${encoding}`);
  }
}

function checkLength({ isDecimal }: PageValues, length: number): void {
  const max = isDecimal ? DECIMAL_BYTES_MAX : VALUE_BYTES_MAX;
  if (!(length >= 0 && length <= max))
    throw new ParquetFault(`has a ${isDecimal ? 'decimal' : 'value'} of ${length} bytes; at most ${max} are read`);
}

function checkRoom({ bytes, at, count }: PageValues, needed: number): void {
  if (needed > bytes.length - at)
    throw new ParquetFault(`declares ${count} values, which need ${needed} bytes; ${bytes.length - at} are left`);
}

function checkPlainTexts(from: ByteCursor, page: PageValues): void {
  checkRoom(page, 4 * page.count);
  for (let n = 0; n < page.count; n++) {
    const length = from.view.getUint32(from.at, true);
    if (length > page.bytes.length - from.at - 4)
      throw new ParquetFault(`has a value of ${length} bytes; ${page.bytes.length - from.at - 4} are left in the page`);
    checkLength(page, length);
    from.at += 4 + length;
  }
}

/** Checks the lengths of texts that begin at `at`, each after the prefix that it shares with the one before. */
function sumOfTexts(page: PageValues, prefixes: Int32Array | null, lengths: Int32Array, at: number): void {
  let before = 0;
  let stored = 0;
  let decoded = 0;
  for (const [n, length] of lengths.entries()) {
    const prefix = prefixes?.[n] ?? 0;
    if (length < 0 || prefix < 0 || prefix > before)
      throw new ParquetFault(`has a value that shares ${prefix} bytes with one of ${before}`);
    checkLength(page, prefix + length);
    before = prefix + length;
    stored += length;
    decoded += before;
  }
  if (stored > page.bytes.length - at)
    throw new ParquetFault(`declares ${stored} bytes of values; ${page.bytes.length - at} are left`);
  if (decoded > PARQUET_PAGE_BYTES_MAX)
    throw new ParquetFault(
      `has values of ${decoded} bytes without their common prefixes; at most ${PARQUET_PAGE_BYTES_MAX} are read`,
    );
}

/** How numbers that are stored as differences are divided. */
interface DeltaForm {
  readonly miniblocks: number;
  readonly perMiniblock: number;
}

function deltaForm(from: ByteCursor): DeltaForm {
  const block = varint(from);
  const miniblocks = varint(from);
  void varint(from);
  skipVarint(from);
  if (!(block >= 1 && block <= DELTA_BLOCK_MAX && miniblocks >= 1 && (block / miniblocks) % 8 === 0))
    throw new ParquetFault(`declares blocks of ${block} differences in ${miniblocks} parts`);
  return { miniblocks, perMiniblock: block / miniblocks };
}

/** Steps over `count` numbers that are stored as differences. */
function checkDeltas(from: ByteCursor, count: number): void {
  const { miniblocks, perMiniblock } = deltaForm(from);
  for (let seen = 1; seen < count;) {
    skipVarint(from);
    const widths = from.at;
    from.at += miniblocks;
    for (let n = 0; n < miniblocks && seen < count; n++) {
      const width = from.view.getUint8(widths + n);
      if (width > DELTA_BIT_WIDTH_MAX) throw new ParquetFault(`has differences of ${width} bits`);
      from.at += (perMiniblock * width) / 8;
      seen += perMiniblock;
    }
  }
}

/** Reads `count` lengths, and leaves the cursor where the reader leaves its own. */
function deltaLengths(from: ByteCursor, count: number): Int32Array {
  const start = from.at;
  checkDeltas({ view: from.view, at: start }, count);
  const lengths = new Int32Array(count);
  const reader = { view: from.view as DataView<ArrayBuffer>, offset: start };
  deltaBinaryUnpack(reader, count, lengths);
  from.at = reader.offset;
  return lengths;
}
