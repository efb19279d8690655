import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../base/brand.ts';
import { endOfCustomer, removeRows } from '../request-rows.ts';
import type { Tallies } from '../tallies.ts';
import { u32Key } from '../value.ts';
import { isPending } from './row.ts';

/**
 * Choice: rows that one call looks at beside those that it removes, so that many pending ones before them never hold the main
 * thread; the next call goes on behind them.
 */
const STEPS_MAX = 1_000;

/** Where the oldest ended row of a customer is looked for. */
interface Place {
  /** No row up to this key has ended, but for those in `late`. */
  passed: Buffer | null;
  /** Ended rows up to `passed`, oldest first: they were pending when it went by. */
  readonly late: Buffer[];
}

/**
 * Keeps each customer's newest `rowsMax` deliveries that have ended; pending ones are not counted and not removed. A place is
 * remembered for each customer that is at its bound, so that an eviction costs the same however many rows are pending.
 */
export class Eviction {
  readonly #table: Database<Buffer, Buffer>;
  readonly #tallies: Tallies;
  readonly #rowsMax: number;
  readonly #stepsMax: number;
  readonly #places = new Map<CustomerNumber, Place>();
  /** Keys that have ended since the last `makeRoom`. */
  #ended = new Map<CustomerNumber, number>();

  constructor(table: Database<Buffer, Buffer>, tallies: Tallies, rowsMax: number, stepsMax = STEPS_MAX) {
    this.#table = table;
    this.#tallies = tallies;
    this.#rowsMax = rowsMax;
    this.#stepsMax = stepsMax;
  }

  /** For each row that has ended, in the transaction that writes it so. */
  ended(customer: CustomerNumber, key: Buffer): void {
    this.#ended.set(customer, (this.#ended.get(customer) ?? 0) + 1);
    const place = this.#places.get(customer);
    if (place === undefined || place.passed === null || key.compare(place.passed) > 0) return;
    place.late.splice(placeOf(place.late, key), 0, key);
  }

  /** At the end of that transaction: counts what has ended and removes the oldest that are too many. Gives how many went. */
  makeRoom(): number {
    const ended = this.#ended;
    this.#ended = new Map();
    let removed = 0;
    for (const [customer, rows] of ended) {
      const over = this.#tallies.add('deliveries', customer, rows) - this.#rowsMax;
      if (over > 0) removed += removeRows(this.#table, this.#tallies, 'deliveries', this.#oldest(customer, over));
    }
    return removed;
  }

  /** After a write that was refused: what is remembered may not be so. */
  forget(): void {
    this.#places.clear();
    this.#ended.clear();
  }

  #oldest(customer: CustomerNumber, count: number): Buffer[] {
    let place = this.#places.get(customer);
    if (place === undefined) {
      place = { passed: null, late: [] };
      this.#places.set(customer, place);
    }
    // Those that were pruned meanwhile make no room.
    const keys: Buffer[] = [];
    while (keys.length < count) {
      const key = place.late.shift();
      if (key === undefined) break;
      if (this.#table.doesExist(key)) keys.push(key);
    }
    if (keys.length < count) this.#walk(customer, place, count, keys);
    return keys;
  }

  #walk(customer: CustomerNumber, place: Place, count: number, keys: Buffer[]): void {
    const range = this.#table.getRange({
      start: place.passed ?? u32Key(customer),
      exclusiveStart: place.passed !== null,
      end: endOfCustomer(customer),
      limit: count - keys.length + this.#stepsMax,
    });
    for (const { key, value } of range) {
      place.passed = Buffer.from(key);
      if (!isPending(value)) keys.push(place.passed);
      if (keys.length === count) return;
    }
  }
}

/** Where a key belongs in a sorted list. */
function placeOf(sorted: readonly Buffer[], key: Buffer): number {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sorted[middle]?.compare(key) ?? 1) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
