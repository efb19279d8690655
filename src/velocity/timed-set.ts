import type { Table } from './table.ts';

/**
 * Members and when each was seen last, a word each: 15 bits of the member << 17 | time in ticks; 0 is none. Members are kept for
 * as long as `keepMs` and counted inside of `windowMs`. Twice as long as they are kept fits into 17 bits of ticks, and after a
 * rest of more all are removed. A window ends up to one tick early, never late. Two members are taken for one in 1 of 32,767.
 */
export interface SetShape {
  /** First word in the record. */
  readonly at: number;
  readonly words: number;
  readonly span: SetSpan;
}

export interface SetSpan {
  readonly windowMs: number;
  readonly keepMs: number;
  readonly tickMs: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
export const HOUR_SET: SetSpan = { windowMs: HOUR_MS, keepMs: HOUR_MS, tickMs: 1_000 };
export const DAY_SET: SetSpan = { windowMs: DAY_MS, keepMs: DAY_MS, tickMs: 2_000 };
/** Kept for 30 days, to know who was here before. */
export const LONG_HOUR_SET: SetSpan = { windowMs: HOUR_MS, keepMs: 30 * DAY_MS, tickMs: 45_000 };
export const LONG_DAY_SET: SetSpan = { windowMs: DAY_MS, keepMs: 30 * DAY_MS, tickMs: 45_000 };

const TICK_BITS = 17;
const TICK_MASK = 2 ** TICK_BITS - 1;
/** Ages from here on are those of times to come: 23 min or more. */
const AHEAD_TICKS = 1_400;
const AHEAD_MIN = TICK_MASK - AHEAD_TICKS;
const TRIES_MAX = 16;
/** Members are 1 to 32,767. */
const MEMBER_MASK = 0x7fff;

export function memberOf(hash: number): number {
  return hash & MEMBER_MASK || 1;
}

export class TimedSet {
  /** Whether the last `see` found the member. */
  wasKnown = false;
  /** Whether the last `see` had no room for it: all members are kept, or in the window for a set that replaces. */
  isFull = false;
  readonly #table: Table;
  readonly #at: number;
  readonly #end: number;
  readonly #tickMs: number;
  readonly #keepMs: number;
  readonly #windowTicks: number;
  readonly #keepTicks: number;
  readonly #replaces: boolean;

  /** `replaces`: a new member takes the place of the oldest that is not in the window. */
  constructor(table: Table, { at, words, span }: SetShape, replaces: boolean) {
    this.#table = table;
    this.#at = at;
    this.#end = at + words;
    this.#tickMs = span.tickMs;
    this.#keepMs = span.keepMs;
    this.#windowTicks = span.windowMs / span.tickMs;
    this.#keepTicks = span.keepMs / span.tickMs;
    this.#replaces = replaces;
  }

  /** Adds or refreshes a member. Returns how many are in the window, this one included if there is room for it. */
  see(record: number, member: number, nowMs: number, restSeconds: number): number {
    this.#clean(record, nowMs, restSeconds);
    for (let n = 0; n < TRIES_MAX; n++) {
      if (this.#trySee(record, member, this.#tick(nowMs))) return this.#count(record, nowMs);
    }
    this.#table.lose();
    return this.#count(record, nowMs);
  }

  /** Members in the window; those of `but` (first word, words) are left out. */
  count(record: number, nowMs: number, restSeconds: number, but = 0, butWords = 0): number {
    this.#clean(record, nowMs, restSeconds);
    return this.#count(record, nowMs, but, butWords);
  }

  /** Whether the member is there, in the window or not. */
  has(record: number, member: number, nowMs: number, restSeconds: number): boolean {
    this.#clean(record, nowMs, restSeconds);
    const words = this.#table.words;
    for (let i = record + this.#at; i < record + this.#end; i++) {
      if ((words[i] ?? 0) >>> TICK_BITS === member) return true;
    }
    return false;
  }

  /** Removes members that are kept no longer. */
  #clean(record: number, nowMs: number, restSeconds: number): void {
    const words = this.#table.words;
    const now = this.#tick(nowMs);
    const isOver = restSeconds * 1_000 > this.#keepMs || restSeconds * 1_000 < -AHEAD_TICKS * this.#tickMs;
    for (let i = record + this.#at; i < record + this.#end; i++) {
      const word = words[i] ?? 0;
      if (word !== 0 && (isOver || ageOf(word, now) >= this.#keepTicks)) Atomics.compareExchange(words, i, word, 0);
    }
  }

  /** false where another worker was faster. */
  #trySee(record: number, member: number, now: number): boolean {
    const words = this.#table.words;
    const next = ((member << TICK_BITS) | now) >>> 0;
    let free = -1;
    let oldest = -1;
    let oldestAge = this.#windowTicks - 1;
    this.wasKnown = false;
    this.isFull = false;
    for (let i = record + this.#at; i < record + this.#end; i++) {
      const word = words[i] ?? 0;
      if (word === 0) {
        if (free < 0) free = i;
        continue;
      }
      const age = ageOf(word, now);
      if (word >>> TICK_BITS === member) {
        this.wasKnown = true;
        return age === 0 || Atomics.compareExchange(words, i, word, next) === word;
      }
      if (age > oldestAge) {
        oldest = i;
        oldestAge = age;
      }
    }
    if (free >= 0) return Atomics.compareExchange(words, free, 0, next) === 0;
    this.isFull = !this.#replaces || oldest < 0;
    if (this.isFull) return true;
    const old = words[oldest] ?? 0;
    return ageOf(old, now) === oldestAge && Atomics.compareExchange(words, oldest, old, next) === old;
  }

  #count(record: number, nowMs: number, but = 0, butWords = 0): number {
    const words = this.#table.words;
    const now = this.#tick(nowMs);
    let count = 0;
    for (let i = record + this.#at; i < record + this.#end; i++) {
      const word = words[i] ?? 0;
      if (word === 0 || ageOf(word, now) >= this.#windowTicks) continue;
      if (butWords === 0 || !this.#isAmong(word >>> TICK_BITS, but, butWords)) count++;
    }
    return count;
  }

  #isAmong(member: number, but: number, butWords: number): boolean {
    const words = this.#table.words;
    for (let i = but; i < but + butWords; i++) if ((words[i] ?? 0) >>> TICK_BITS === member) return true;
    return false;
  }

  #tick(nowMs: number): number {
    return Math.floor(nowMs / this.#tickMs) & TICK_MASK;
  }
}

function ageOf(word: number, now: number): number {
  const age = (now - word) & TICK_MASK;
  return age >= AHEAD_MIN ? 0 : age;
}
