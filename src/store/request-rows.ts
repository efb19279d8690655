import type { Database } from 'lmdb';
import type { CustomerNumber } from '../base/brand.ts';
import type { Tallies } from './tallies.ts';
import { u32Key } from './value.ts';

/**
 * Rows that belong to one decision of one customer: the key is the customer's number, u32, and the 16 bytes of the request id,
 * which are 48 bits of milliseconds and 80 of randomness. So a customer's rows lie in the order of their decisions, and their
 * age is in the key.
 */
const KEY_BYTES = 20;
const TIME_AT = 4;
const RANDOM_AT = 10;
const CUSTOMER_MAX = 0xffff_ffff;

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** 130 bits in 26 characters, of which the first two are zero. */
const ID_FORM = /^req_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const PREFIX = 'req_';

/** null for what is no request id of this service. */
export function requestKey(customer: CustomerNumber, requestId: string): Buffer | null {
  if (!ID_FORM.test(requestId)) return null;
  const key = Buffer.allocUnsafe(KEY_BYTES);
  key.writeUInt32BE(customer, 0);
  key.writeUIntBE(numberOf(requestId, 4, 14), TIME_AT, 6);
  key.writeUIntBE(numberOf(requestId, 14, 22), RANDOM_AT, 5);
  key.writeUIntBE(numberOf(requestId, 22, 30), RANDOM_AT + 5, 5);
  return key;
}

export function requestIdOf(key: Buffer): string {
  const time = textOf(key.readUIntBE(TIME_AT, 6), 10);
  return PREFIX + time + textOf(key.readUIntBE(RANDOM_AT, 5), 8) + textOf(key.readUIntBE(RANDOM_AT + 5, 5), 8);
}

/** Where a customer's rows end: before this key. */
export function endOfCustomer(customer: number): Buffer {
  return customer >= CUSTOMER_MAX ? Buffer.alloc(KEY_BYTES + 1, 0xff) : u32Key(customer + 1);
}

export interface OldRows {
  readonly keys: readonly Buffer[];
  /** The customer to go on with, 0 after the last one. */
  readonly next: number;
}

/**
 * The keys of rows whose decision was made before `cutoffMs`, from one customer on, in at most `rowsMax` steps (a row, or a
 * customer without one).
 */
export function oldRows(
  table: Database<Buffer, Buffer>,
  fromCustomer: number,
  cutoffMs: number,
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
    for (const key of table.getKeys({ start: u32Key(owner), end: beginningOf(owner, cutoffMs), limit })) {
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

/** Only inside a write transaction. Gives how many were there. */
export function removeRows(
  table: Database<Buffer, Buffer>,
  tallies: Tallies,
  name: 'labels' | 'shadowReviews',
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
    tallies.add(name, customer, -rows);
    all += rows;
  }
  return all;
}

/** The first key that a customer's row of that time can have. */
function beginningOf(customer: number, atMs: number): Buffer {
  const key = Buffer.alloc(KEY_BYTES);
  key.writeUInt32BE(customer, 0);
  key.writeUIntBE(Math.max(0, Math.floor(atMs)), TIME_AT, 6);
  return key;
}

function numberOf(text: string, from: number, to: number): number {
  let value = 0;
  for (let i = from; i < to; i++) value = value * 32 + ALPHABET.indexOf(text.charAt(i));
  return value;
}

function textOf(value: number, characters: number): string {
  let rest = value;
  let text = '';
  for (let i = 0; i < characters; i++) {
    text = ALPHABET.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
