import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../../kernel/brand.ts';
import { endOfCustomer, removeRows } from '../request-rows.ts';
import type { RowCounters } from '../row-counters.ts';
import { u32Key } from '../value.ts';
import { isPending } from './row.ts';

/**
 * Choice: rows scanned per call in addition to those removed, so that many pending rows before them never block the main thread; the next
 * call continues after them.
 */
const STEPS_MAX = 1_000;

/** Scan position of the search for a customer's oldest ended row. */
interface Place {
  /** No row up to this key has ended, except those in `late`. */
  passed: Buffer | null;
  /** Ended rows up to `passed`, oldest first: they were pending when the scan passed them. */
  readonly late: Buffer[];
}

/**
 * Keeps each customer's newest `rowsMax` ended deliveries; pending ones are neither counted nor removed. The scan position of each customer
 * at its limit is remembered, so that the cost of an eviction does not depend on the number of pending rows.
 */
export class Eviction {
  readonly #table: Database<Buffer, Buffer>;
  readonly #rowCounters: RowCounters;
  readonly #rowsMax: number;
  readonly #stepsMax: number;
  readonly #places = new Map<CustomerNumber, Place>();
  /** Number of rows ended per customer since the last `makeRoom`. */
  #ended = new Map<CustomerNumber, number>();

  constructor(table: Database<Buffer, Buffer>, rowCounters: RowCounters, rowsMax: number, stepsMax = STEPS_MAX) {
    this.#table = table;
    this.#rowCounters = rowCounters;
    this.#rowsMax = rowsMax;
    this.#stepsMax = stepsMax;
  }

  /** Call for each row that ended, in the transaction that ends it. */
  ended(customer: CustomerNumber, key: Buffer): void {
    this.#ended.set(customer, (this.#ended.get(customer) ?? 0) + 1);
    const place = this.#places.get(customer);
    if (place === undefined || place.passed === null || key.compare(place.passed) > 0) return;
    place.late.splice(placeOf(place.late, key), 0, key);
  }

  /** Call at the end of that transaction: counts the ended rows and removes the oldest excess ones. Returns how many were removed. */
  makeRoom(): number {
    const ended = this.#ended;
    this.#ended = new Map();
    let removed = 0;
    for (const [customer, rows] of ended) {
      const over = this.#rowCounters.add('deliveries', customer, rows) - this.#rowsMax;
      if (over > 0) removed += removeRows(this.#table, this.#rowCounters, 'deliveries', this.#oldest(customer, over));
    }
    return removed;
  }

  /** Call after a refused write: the remembered positions may be wrong. */
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
    // Rows that were pruned meanwhile do not count.
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

/** Returns the insertion index of a key in a sorted list. */
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
