import { addToBucket, BUCKETS, sumBuckets } from './buckets.ts';
import { KIND_BUSY } from './layout.ts';
import type { Table } from './table.ts';

/** Keeps the last events of a window individually. */
export interface CounterRing {
  /** Time of the event that the last `add` overwrote although it is still inside the window, ms; -1 without one. */
  readonly pushedOutMs: number;
  /** Adds an event. Returns how many of the kept events are in the window. */
  add(record: number, nowMs: number, restSeconds: number): number;
  count(record: number, nowMs: number, restSeconds: number): number;
}

/**
 * Counts the events of a window: the last ones with a ring in the subject's record. Events that the ring overwrites while they still count
 * go to an overflow record, which only busy subjects have.
 *
 *   0 hash   1-10, 11-20, 21-30 buckets of the subject's counters, up to three (`buckets.ts`)   31 unused
 */
export interface CounterShape {
  readonly windowMs: number;
  /** Word of the flags in the subject's record, and the flag that is set when the overflow record exists. */
  readonly flagsAt: number;
  readonly flag: number;
  /** Index in the overflow record, 0 to 2. */
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

  /** Adds an event and returns the count including it. `low` and `high` are the subject's key. */
  add(record: number, low: number, high: number, nowMs: number, restSeconds: number): number {
    const count = this.#ring.add(record, nowMs, restSeconds);
    if (this.#ring.pushedOutMs >= 0) this.#push(record, low, high, nowMs, this.#ring.pushedOutMs);
    return count + this.#pushed(record, low, high, nowMs);
  }

  /** Returns the count. Removes expired events from the ring, so it must run whenever the record is used. */
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
