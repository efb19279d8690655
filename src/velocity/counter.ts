import { addToBucket, BUCKETS, sumBuckets } from './buckets.ts';
import { KIND_BUSY } from './layout.ts';
import type { Table } from './table.ts';

/** Keeps the last events of a window one by one. */
export interface CounterRing {
  /** The time of the event that the last `add` pushed out although it is inside of the window, ms; -1 without one. */
  readonly pushedOutMs: number;
  /** Adds an event. Returns how many of those that are kept are in the window. */
  add(record: number, nowMs: number, restSeconds: number): number;
  count(record: number, nowMs: number, restSeconds: number): number;
}

/**
 * Counts events of a window: the last ones by a ring in the subject's record, what the ring pushes out while it still counts in
 * a further record that only busy subjects have.
 *
 *   0 hash   1-10, 11-20, 21-30 buckets of the subject's counters, up to three (`buckets.ts`)   31 unused
 */
export interface CounterShape {
  readonly windowMs: number;
  /** Where the subject's record keeps its flags, and the flag that says that a further record was made. */
  readonly flagsAt: number;
  readonly flag: number;
  /** 0 to 2: the place in the further record. */
  readonly counter: number;
}

export class Counter {
  readonly #table: Table;
  readonly #ring: CounterRing;
  readonly #shape: CounterShape;

  constructor(table: Table, ring: CounterRing, shape: CounterShape) {
    this.#table = table;
    this.#ring = ring;
    this.#shape = shape;
  }

  /** Adds an event and counts, the present one included. `low` and `high` are the subject's key. */
  add(record: number, low: number, high: number, nowMs: number, restSeconds: number): number {
    const count = this.#ring.add(record, nowMs, restSeconds);
    if (this.#ring.pushedOutMs >= 0) this.#push(record, low, high, nowMs, this.#ring.pushedOutMs);
    return count + this.#pushed(record, low, high, nowMs);
  }

  /** Counts; removes from the ring what is over, so it must run whenever the record is used. */
  count(record: number, low: number, high: number, nowMs: number, restSeconds: number): number {
    return this.#ring.count(record, nowMs, restSeconds) + this.#pushed(record, low, high, nowMs);
  }

  #push(record: number, low: number, high: number, nowMs: number, eventMs: number): void {
    const { counter, flagsAt, flag, windowMs } = this.#shape;
    const busy = this.#table.take(low, high, KIND_BUSY, Math.floor(nowMs / 1_000));
    if (busy === 0) return;
    addToBucket(this.#table, busy + 1 + counter * BUCKETS, windowMs, eventMs);
    Atomics.or(this.#table.words, record + flagsAt, flag);
  }

  #pushed(record: number, low: number, high: number, nowMs: number): number {
    const { counter, flagsAt, flag, windowMs } = this.#shape;
    const { words } = this.#table;
    if (((words[record + flagsAt] ?? 0) & flag) === 0) return 0;
    const busy = this.#table.find(low, high, KIND_BUSY, Math.floor(nowMs / 1_000));
    const sum = busy === 0 ? 0 : sumBuckets(this.#table, busy + 1 + counter * BUCKETS, windowMs, nowMs);
    if (sum === 0) Atomics.and(words, record + flagsAt, ~flag);
    return Math.round(sum);
  }
}
