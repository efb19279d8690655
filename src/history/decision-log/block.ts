import type { CustomerNumber } from '../../kernel/brand.ts';
import { SUM_BYTES, withSum } from '../../state/tables/value.ts';
import { crc32 } from 'node:zlib';

/**
 * Decisions of one customer and one stream, in the order of their arrival: the unit in which the log is written, read and removed. The key
 * contains everything that a search needs to know about a block, so that opening the log reads no value.
 *
 *   key    customer u32 | stream u8 | first arrival u48 | last arrival - first u32 | oldest ms u48 | newest ms u48 | rows u16 | bytes u32
 *   value  rows, each: record bytes u16 | latency ms u16 | decision u8 | occurred at ms u48 | arrival - first u32 | record
 *
 * An arrival is a number that increases with every decision of the log. Times may be in any order, since the clock may be set and batches
 * overtake each other; arrivals always increase. Together they define a total order of a customer's decisions.
 */
export const KEY_BYTES = 33;
export const ROW_HEAD_BYTES = 15;
export const ARRIVAL_SPAN_MAX = 2 ** 32 - 1;
const LATENCY_MS_MAX = 0xffff;
/** Bytes that a block takes on the disk in addition to its rows: key, check sum and LMDB's overhead. */
export const BLOCK_EXTRA_BYTES = 64;

/** 0 is ALLOW, 1 is everything else; they are kept for different times. */
export type Stream = 0 | 1;

/** Range of a block: no row is newer than (`newestMs`, `lastArrival`) or older than `oldestMs`. */
export interface Span {
  readonly oldestMs: number;
  readonly newestMs: number;
  readonly firstArrival: number;
  readonly lastArrival: number;
}

export class Block implements Span {
  readonly customer: CustomerNumber;
  readonly stream: Stream;
  readonly firstArrival: number;
  lastArrival: number;
  oldestMs = Number.MAX_SAFE_INTEGER;
  newestMs = 0;
  rows = 0;
  /** Bytes of its rows. */
  end = 0;
  /** Its rows, while they are not in the store or the block is growing. */
  buffer: Buffer | null = null;
  /** The key under which it was last stored; null before. */
  key: Buffer | null = null;
  /** It accepts no more rows. */
  isSealed = false;
  /** It is queued for writing. */
  isWaiting = false;
  /** It was removed, though a search may still hold it. */
  isGone = false;
  /** It could not be read; counted once. */
  isDamaged = false;
  #sealedKey: Buffer | null = null;

  constructor(customer: CustomerNumber, stream: Stream, firstArrival: number) {
    this.customer = customer;
    this.stream = stream;
    this.firstArrival = firstArrival;
    this.lastArrival = firstArrival;
  }

  /** Adds a row; the caller must have made room in the buffer. */
  add(record: Uint8Array, decision: number, occurredAtMs: number, latencyMs: number, arrival: number): void {
    const { buffer } = this;
    if (buffer === null) throw new Error('a block without a buffer takes no row');
    const at = this.end;
    const latency = Math.min(LATENCY_MS_MAX, Math.max(0, Math.round(latencyMs)));
    writeU16(buffer, at, record.length);
    writeU16(buffer, at + 2, latency);
    buffer[at + 4] = decision;
    writeU16(buffer, at + 5, Math.floor(occurredAtMs / 2 ** 32));
    writeU32(buffer, at + 7, occurredAtMs);
    writeU32(buffer, at + 11, arrival - this.firstArrival);
    buffer.set(record, at + ROW_HEAD_BYTES);
    this.end = at + ROW_HEAD_BYTES + record.length;
    this.rows++;
    this.lastArrival = arrival;
    if (occurredAtMs < this.oldestMs) this.oldestMs = occurredAtMs;
    if (occurredAtMs > this.newestMs) this.newestMs = occurredAtMs;
  }

  /**
   * Makes the block immutable. The check sum is computed here and not by the write, which spreads its cost over the decisions. Measured: 11
   * µs for 64 KiB.
   */
  seal(): void {
    const { buffer, end } = this;
    this.isSealed = true;
    if (buffer === null) return;
    const key = encodeKey(this);
    buffer.writeUInt32BE(crc32(buffer.subarray(0, end), crc32(key)), end);
    this.#sealedKey = key;
  }

  /** Returns the key and value to be stored; the value is the buffer itself if the block is sealed. */
  toStore(): { readonly key: Buffer; readonly value: Buffer } {
    const { buffer, end } = this;
    if (buffer === null) throw new Error('a block without a buffer is not written');
    if (this.#sealedKey !== null) return { key: this.#sealedKey, value: buffer.subarray(0, end + SUM_BYTES) };
    const key = encodeKey(this);
    return { key, value: withSum(key, buffer.subarray(0, end)) };
  }
}

function encodeKey(block: Block): Buffer {
  const key = Buffer.alloc(KEY_BYTES);
  key.writeUInt32BE(block.customer, 0);
  key.writeUInt8(block.stream, 4);
  key.writeUIntBE(block.firstArrival, 5, 6);
  key.writeUInt32BE(block.lastArrival - block.firstArrival, 11);
  key.writeUIntBE(block.oldestMs, 15, 6);
  key.writeUIntBE(block.newestMs, 21, 6);
  key.writeUInt16BE(block.rows, 27);
  key.writeUInt32BE(block.end, 29);
  return key;
}

/** Returns the block stored under this key; null if it is no valid block key. */
export function decodeKey(stored: Uint8Array): Block | null {
  const key = Buffer.from(stored);
  const stream = key[4];
  if (key.length !== KEY_BYTES || (stream !== 0 && stream !== 1)) return null;
  const block = new Block(key.readUInt32BE(0) as CustomerNumber, stream, key.readUIntBE(5, 6));
  block.lastArrival = block.firstArrival + key.readUInt32BE(11);
  block.oldestMs = key.readUIntBE(15, 6);
  block.newestMs = key.readUIntBE(21, 6);
  block.rows = key.readUInt16BE(27);
  block.end = key.readUInt32BE(29);
  block.key = key;
  block.isSealed = true;
  return block;
}

/** A row's header and the range of its record; reused for every row. */
export interface RowView {
  decision: number;
  occurredAtMs: number;
  arrival: number;
  latencyMs: number;
  recordAt: number;
  recordEnd: number;
}

export function newRowView(): RowView {
  return { decision: 0, occurredAtMs: 0, arrival: 0, latencyMs: 0, recordAt: 0, recordEnd: 0 };
}

/** Reads the row at `at` into `row` and returns the position of the next one; -1 if the bytes contain no row. */
export function readRow(rows: Buffer, at: number, end: number, firstArrival: number, row: RowView): number {
  if (at + ROW_HEAD_BYTES > end) return -1;
  const recordEnd = at + ROW_HEAD_BYTES + rows.readUInt16BE(at);
  if (recordEnd > end) return -1;
  row.latencyMs = rows.readUInt16BE(at + 2);
  row.decision = rows[at + 4] ?? 0;
  row.occurredAtMs = rows.readUInt16BE(at + 5) * 2 ** 32 + rows.readUInt32BE(at + 7);
  row.arrival = firstArrival + rows.readUInt32BE(at + 11);
  row.recordAt = at + ROW_HEAD_BYTES;
  row.recordEnd = recordEnd;
  return recordEnd;
}

/** Returns the position after the row at `at`, which may be beyond the rows of a damaged block. */
export function rowEnd(rows: Buffer, at: number): number {
  return at + ROW_HEAD_BYTES + ((rows[at] ?? 0) << 8) + (rows[at + 1] ?? 0);
}

function writeU16(bytes: Buffer, at: number, value: number): void {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value;
}

function writeU32(bytes: Buffer, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}
