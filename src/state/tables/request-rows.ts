import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type { IdPrefix } from '../../kernel/ids.ts';
import type { RowCounters } from './row-counters.ts';
import { u32Key } from './value.ts';

/**
 * Rows with one id per customer: the key is the customer's number, u32, and the 16 bytes of the id, which are 48 bits of milliseconds and
 * 80 of randomness. So a customer's rows are sorted by id, and their age is in the key.
 */
const KEY_BYTES = 20;
const ID_AT = 4;
const TIME_AT = 4;
export const CUSTOMER_MAX = 0xffff_ffff;

/** Bytes of an id without its prefix. */
export const ID_BYTES = 16;
const ID_CHARACTERS = 26;
const TIME_CHARACTERS = 10;
/** Characters of the base-32 digits. */
const CODES = Buffer.from('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 'latin1');
const NO_DIGIT = 255;
/** Character code → digit. */
const DIGITS = new Uint8Array(128).fill(NO_DIGIT);
for (const [digit, code] of CODES.entries()) DIGITS[code] = digit;

/** Returns null if `id` is no id of this service with that prefix. */
export function rowKey(prefix: IdPrefix, customer: CustomerNumber, id: string): Buffer | null {
  const key = Buffer.allocUnsafe(KEY_BYTES);
  key.writeUInt32BE(customer, 0);
  return writeId(prefix, id, key, ID_AT) ? key : null;
}

export function rowIdOf(prefix: IdPrefix, key: Buffer): string {
  return readId(prefix, key, ID_AT);
}

/** Returns the key of a decision's row. */
export function requestKey(customer: CustomerNumber, requestId: string): Buffer | null {
  return rowKey('req', customer, requestId);
}

export function requestIdOf(key: Buffer): string {
  return rowIdOf('req', key);
}

/** Writes the `ID_BYTES` of an id; returns false if it is no id with that prefix. Measured: 0.1 µs. */
export function writeId(prefix: IdPrefix, id: string, target: Buffer, at: number): boolean {
  const from = prefix.length + 1;
  if (id.length !== from + ID_CHARACTERS || !id.startsWith(prefix) || id.charAt(prefix.length) !== '_') return false;
  const time = numberOf(id, from, TIME_CHARACTERS);
  const high = numberOf(id, from + TIME_CHARACTERS, 8);
  const low = numberOf(id, from + TIME_CHARACTERS + 8, 8);
  // The first two of 130 bits are zero.
  if (!(time < 2 ** 48) || Number.isNaN(high) || Number.isNaN(low)) return false;
  target.writeUIntBE(time, at, 6);
  target.writeUIntBE(high, at + 6, 5);
  target.writeUIntBE(low, at + 11, 5);
  return true;
}

/** Choice: a buffer for the characters of `readId`, because concatenating them takes ten times as long. */
const text = Buffer.alloc(ID_CHARACTERS);

/** Measured: 0.1 µs. */
export function readId(prefix: IdPrefix, from: Buffer, at: number): string {
  writeDigits(from.readUIntBE(at, 6), 0, TIME_CHARACTERS);
  writeDigits(from.readUIntBE(at + 6, 5), TIME_CHARACTERS, 8);
  writeDigits(from.readUIntBE(at + 11, 5), TIME_CHARACTERS + 8, 8);
  return `${prefix}_${text.latin1Slice(0, ID_CHARACTERS)}`;
}

/** Returns the exclusive end of a customer's keys. */
export function endOfCustomer(customer: number): Buffer {
  return customer >= CUSTOMER_MAX ? Buffer.alloc(KEY_BYTES + 1, 0xff) : u32Key(customer + 1);
}

export interface OldRows {
  readonly keys: readonly Buffer[];
  /** Customer with which to continue; 0 after the last one. */
  readonly next: number;
}

/** How long rows of a customer are kept, ms. */
export type KeptMsOf = (customer: CustomerNumber) => number;

/**
 * Returns the keys of rows whose ids are older than their customer's cut-off, starting with one customer, in at most `rowsMax` steps (a
 * row, or a customer without one).
 */
export function oldRows(
  table: Database<Buffer, Buffer>,
  fromCustomer: number,
  cutoffMsOf: (customer: CustomerNumber) => number,
  rowsMax: number,
): OldRows {
  const keys: Buffer[] = [];
  let customer = fromCustomer;
  for (let steps = 0; steps < rowsMax; steps++) {
    const [first] = table.getKeys({ start: u32Key(customer), limit: 1 });
    if (first === undefined) return { keys, next: 0 };
    const owner = Buffer.from(first).readUInt32BE(0);
    const limit = rowsMax - steps;
    let found = 0;
    for (const key of table.getKeys({
      start: u32Key(owner),
      end: beginningOf(owner, cutoffMsOf(owner as CustomerNumber)),
      limit,
    })) {
      keys.push(Buffer.from(key));
      found++;
    }
    if (found === limit) return { keys, next: owner };
    if (owner === CUSTOMER_MAX) return { keys, next: 0 };
    steps += found;
    customer = owner + 1;
  }
  return { keys, next: customer };
}

/** Must be called inside a write transaction. Returns how many of the rows existed. */
export function removeRows(
  table: Database<Buffer, Buffer>,
  rowCounters: RowCounters,
  name: 'labels' | 'shadowReviews' | 'deliveries' | 'lists' | 'idempotency',
  keys: readonly Buffer[],
): number {
  const removed = new Map<CustomerNumber, number>();
  for (const key of keys) {
    if (!table.doesExist(key)) continue;
    void table.remove(key);
    const customer = key.readUInt32BE(0) as CustomerNumber;
    removed.set(customer, (removed.get(customer) ?? 0) + 1);
  }
  let all = 0;
  for (const [customer, rows] of removed) {
    rowCounters.add(name, customer, -rows);
    all += rows;
  }
  return all;
}

/** Returns the smallest key that a customer's row of that time can have. */
function beginningOf(customer: number, atMs: number): Buffer {
  const key = Buffer.alloc(KEY_BYTES);
  key.writeUInt32BE(customer, 0);
  key.writeUIntBE(Math.max(0, Math.floor(atMs)), TIME_AT, 6);
  return key;
}

/** Returns NaN if a character is no digit. */
function numberOf(text: string, from: number, characters: number): number {
  let value = 0;
  for (let i = from; i < from + characters; i++) {
    const digit = DIGITS[text.charCodeAt(i)] ?? NO_DIGIT;
    if (digit === NO_DIGIT) return Number.NaN;
    value = value * 32 + digit;
  }
  return value;
}

/** In two halves, because bit operations are limited to 32 bits. */
function writeDigits(value: number, at: number, characters: number): void {
  const half = characters / 2;
  const high = Math.floor(value / 32 ** half);
  const low = value - high * 32 ** half;
  for (let i = 0; i < half; i++) {
    const shift = 5 * (half - 1 - i);
    text[at + i] = CODES[(high >>> shift) & 31] ?? 0;
    text[at + half + i] = CODES[(low >>> shift) & 31] ?? 0;
  }
}
