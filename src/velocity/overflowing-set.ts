import { mix } from './keys.ts';
import { SetRecords } from './set-record.ts';
import type { Table } from './table.ts';
import { type SetShape, TimedSet } from './timed-set.ts';

/** A set whose first members are in the subject's record; further ones go to an overflow record. */
export interface OverflowingShape extends SetShape {
  /** Index of the flags word in the subject's record, and the flag that is set when the overflow record exists. */
  readonly flagsAt: number;
  readonly flag: number;
  /** Kind and salt of the overflow record. */
  readonly kind: number;
  readonly salt: number;
}

export class OverflowingSet {
  /** Whether the last `see` found the member. */
  wasKnown = false;
  readonly #table: Table;
  readonly #shape: OverflowingShape;
  readonly #inner: TimedSet;
  readonly #outer: SetRecords;

  constructor(table: Table, shape: OverflowingShape) {
    this.#table = table;
    this.#shape = shape;
    this.#inner = new TimedSet(table, shape, false);
    this.#outer = new SetRecords(table, shape.kind, shape.span);
  }

  /** Adds or refreshes a member. Returns how many are in the window. `low` and `high` are the subject's key. */
  see(record: number, low: number, high: number, member: number, nowMs: number, restSeconds: number): number {
    const { at, words, flagsAt, flag, salt } = this.#shape;
    const { words: memory } = this.#table;
    const inside = this.#inner.see(record, member, nowMs, restSeconds);
    this.wasKnown = this.#inner.wasKnown;
    const hasOuter = ((memory[record + flagsAt] ?? 0) & flag) !== 0;
    if (!this.#inner.isFull && !hasOuter) return inside;
    const outerLow = mix(low, high, salt);
    const outerHigh = mix(high, low, salt);
    if (!this.#inner.isFull) {
      // The member may be in the overflow record although a slot inside is free again.
      if (!this.wasKnown) this.wasKnown = this.#outer.has(outerLow, outerHigh, member, nowMs);
      return inside + this.#countOuter(record, outerLow, outerHigh, nowMs);
    }
    Atomics.or(memory, record + flagsAt, flag);
    const outside = this.#outer.see(outerLow, outerHigh, member, nowMs, record + at, words);
    this.wasKnown = this.#outer.wasKnown;
    return inside + outside;
  }

  /** Returns whether the member is stored, inside the window or not. Not exact for one of over 30 further members. */
  has(record: number, low: number, high: number, member: number, nowMs: number, restSeconds: number): boolean {
    const { flagsAt, flag, salt } = this.#shape;
    if (this.#inner.has(record, member, nowMs, restSeconds)) return true;
    if (((this.#table.words[record + flagsAt] ?? 0) & flag) === 0) return false;
    return this.#outer.has(mix(low, high, salt), mix(high, low, salt), member, nowMs);
  }

  remove(record: number, low: number, high: number, member: number, nowMs: number): void {
    const { flagsAt, flag, salt } = this.#shape;
    this.#inner.remove(record, member);
    if (((this.#table.words[record + flagsAt] ?? 0) & flag) === 0) return;
    this.#outer.remove(mix(low, high, salt), mix(high, low, salt), member, nowMs);
  }

  /** Returns the number of members in the window. */
  count(record: number, low: number, high: number, nowMs: number, restSeconds: number): number {
    const { flagsAt, flag, salt } = this.#shape;
    const inside = this.#inner.count(record, nowMs, restSeconds);
    if (((this.#table.words[record + flagsAt] ?? 0) & flag) === 0) return inside;
    return inside + this.#countOuter(record, mix(low, high, salt), mix(high, low, salt), nowMs);
  }

  #countOuter(record: number, outerLow: number, outerHigh: number, nowMs: number): number {
    const { at, words, flagsAt, flag } = this.#shape;
    const outside = this.#outer.count(outerLow, outerHigh, nowMs, record + at, words);
    if (!this.#outer.isThere) Atomics.and(this.#table.words, record + flagsAt, ~flag);
    return outside;
  }
}
