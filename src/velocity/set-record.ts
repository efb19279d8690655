import { KIND_SKETCH } from './layout.ts';
import { mix, SALT_SKETCH } from './keys.ts';
import { CELLS_PER_RECORD, countEmptyCells, estimate, touchCell, SKETCH_RECORDS } from './sketch.ts';
import type { Table } from './table.ts';
import { type SetSpan, TimedSet } from './timed-set.ts';

/**
 * A set with a record of its own: the first 30 members exactly; with more, a sketch in two further records.
 *
 *   0 hash   1 flags: a sketch exists   2-31 members (`timed-set.ts`)
 */
const AT_FLAGS = 1;
const AT_MEMBERS = 2;
const MEMBERS = 30;
const FLAG_SKETCH = 1;

export class SetRecords {
  /** Whether the last `see` found the member. */
  wasKnown = false;
  /** Whether the last `count` found a record. */
  isThere = false;
  readonly #table: Table;
  readonly #kind: number;
  readonly #windowMs: number;
  readonly #set: TimedSet;

  constructor(table: Table, kind: number, span: SetSpan) {
    this.#table = table;
    this.#kind = kind;
    this.#windowMs = span.windowMs;
    this.#set = new TimedSet(table, { at: AT_MEMBERS, words: MEMBERS, span }, true);
  }

  /** Adds or refreshes a member. Returns how many are in the window, excluding the `butWords` members from word `but` on. */
  see(low: number, high: number, member: number, nowMs: number, but = 0, butWords = 0): number {
    const table = this.#table;
    this.wasKnown = false;
    const record = table.take(low, high, this.#kind, Math.floor(nowMs / 1_000));
    if (record === 0) return 0;
    const rest = table.restSeconds;
    const found = this.#set.see(record, member, nowMs, rest);
    this.wasKnown = this.#set.wasKnown;
    const isSketched = ((table.words[record + AT_FLAGS] ?? 0) & FLAG_SKETCH) !== 0;
    if (!this.#set.isFull && !isSketched)
      return butWords === 0 ? found : this.#set.count(record, nowMs, 0, but, butWords);
    if (!isSketched) {
      Atomics.or(table.words, record + AT_FLAGS, FLAG_SKETCH);
      for (let i = AT_MEMBERS; i < AT_MEMBERS + MEMBERS; i++) {
        this.#mark(low, high, (table.words[record + i] ?? 0) >>> 17, nowMs);
      }
    }
    this.#mark(low, high, member, nowMs);
    return this.#estimate(record, low, high, nowMs, found);
  }

  /** Returns whether the member is stored exactly, inside the window or not. */
  has(low: number, high: number, member: number, nowMs: number): boolean {
    const table = this.#table;
    const record = table.find(low, high, this.#kind, Math.floor(nowMs / 1_000));
    return record !== 0 && this.#set.has(record, member, nowMs, table.restSeconds);
  }

  /** Removes a member that is stored exactly; a sketch keeps it until it expires. */
  remove(low: number, high: number, member: number, nowMs: number): void {
    const record = this.#table.find(low, high, this.#kind, Math.floor(nowMs / 1_000));
    if (record !== 0) this.#set.remove(record, member);
  }

  /** Returns the members in the window; 0 where nothing is known. */
  count(low: number, high: number, nowMs: number, but = 0, butWords = 0): number {
    const table = this.#table;
    const record = table.find(low, high, this.#kind, Math.floor(nowMs / 1_000));
    this.isThere = record !== 0;
    if (record === 0) return 0;
    const found = this.#set.count(record, nowMs, table.restSeconds, but, butWords);
    const isSketched = ((table.words[record + AT_FLAGS] ?? 0) & FLAG_SKETCH) !== 0;
    return isSketched ? this.#estimate(record, low, high, nowMs, found) : found;
  }

  #mark(low: number, high: number, member: number, nowMs: number): void {
    const table = this.#table;
    const cell = Math.floor((member * CELLS_PER_RECORD * SKETCH_RECORDS) / 32_768);
    const part = Math.floor(cell / CELLS_PER_RECORD);
    const record = this.#sketch(low, high, part, nowMs, true);
    if (record !== 0) touchCell(table, record, cell % CELLS_PER_RECORD, this.#windowMs, nowMs, table.restSeconds);
  }

  /** The sketch holds all members, so the larger of both numbers is the better estimate. */
  #estimate(record: number, low: number, high: number, nowMs: number, exact: number): number {
    const table = this.#table;
    let empty = 0;
    let isThere = false;
    for (let part = 0; part < SKETCH_RECORDS; part++) {
      const sketch = this.#sketch(low, high, part, nowMs, false);
      empty +=
        sketch === 0 ? CELLS_PER_RECORD : countEmptyCells(table, sketch, this.#windowMs, nowMs, table.restSeconds);
      if (sketch !== 0) isThere = true;
    }
    const all = CELLS_PER_RECORD * SKETCH_RECORDS;
    if (!isThere || empty === all) Atomics.and(table.words, record + AT_FLAGS, ~FLAG_SKETCH);
    return Math.max(exact, estimate(empty, all));
  }

  #sketch(low: number, high: number, part: number, nowMs: number, makes: boolean): number {
    const salt = SALT_SKETCH + (part << 8);
    const ownLow = mix(low, high, salt);
    const ownHigh = mix(high, low, salt);
    const nowSeconds = Math.floor(nowMs / 1_000);
    return makes
      ? this.#table.take(ownLow, ownHigh, KIND_SKETCH, nowSeconds)
      : this.#table.find(ownLow, ownHigh, KIND_SKETCH, nowSeconds);
  }
}
