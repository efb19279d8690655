import type { Table } from './table.ts';

/**
 * Members and when each was last seen, one word each: 15 bits of the member << 17 | time in ticks; 0 is empty. Members are kept for
 * `keepMs` and counted within `windowMs`. 17 bits of ticks cover at least twice the retention time; after a longer idle time all members
 * are removed. A window ends up to one tick early, never late. Two members are taken for one in 1 of 32,767 cases.
 */
export interface SetShape {
  /** Index of the first word in the record. */
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
export const TEN_MINUTE_SET: SetSpan = { windowMs: 600_000, keepMs: 600_000, tickMs: 250 };
export const DAY_SET: SetSpan = { windowMs: DAY_MS, keepMs: DAY_MS, tickMs: 2_000 };
export const WEEK_SET: SetSpan = { windowMs: 7 * DAY_MS, keepMs: 7 * DAY_MS, tickMs: 10_000 };
/** Kept for 30 days, to know what was seen before. */
export const LONG_HOUR_SET: SetSpan = { windowMs: HOUR_MS, keepMs: 30 * DAY_MS, tickMs: 45_000 };
export const LONG_DAY_SET: SetSpan = { windowMs: DAY_MS, keepMs: 30 * DAY_MS, tickMs: 45_000 };
export const MONTH_SET: SetSpan = { windowMs: 30 * DAY_MS, keepMs: 30 * DAY_MS, tickMs: 45_000 };

const TICK_BITS = 17;
const TICK_MASK = 2 ** TICK_BITS - 1;
/** Ages from here on are times in the future: up to 1,400 ticks, 350 s in a set of 10 min and over 23 min in the others. */
const AHEAD_TICKS = 1_400;
const AHEAD_MIN = TICK_MASK - AHEAD_TICKS;
const TRIES_MAX = 16;
/** Members range from 1 to 32,767. */
const MEMBER_MASK = 0x7fff;

export function setMemberOf(hash: number): number {
  return hash & MEMBER_MASK || 1;
}

export class TimedSet {
  /** Whether the last `see` found the member. */
  wasKnown = false;
  /** Whether the last `see` had no room: all words hold members that are kept, or, in a set that replaces, members in the window. */
  isFull = false;
  readonly #table: Table;
  readonly #at: number;
  readonly #end: number;
  readonly #tickMs: number;
  readonly #keepMs: number;
  readonly #windowTicks: number;
  readonly #keepTicks: number;
  readonly #replaces: boolean;
  /** Set by the last pass over the words: index of the member, of an empty word, of the oldest member; -1 for none. */
  #found = -1;
  #free = -1;
  #oldest = -1;

  /** `replaces`: a new member replaces the oldest one that is outside the window. */
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
    const now = this.#tick(nowMs);
    const isOver = this.#isOver(restSeconds);
    for (let n = 0; n < TRIES_MAX; n++) {
      const others = this.#pass(record, member, now, isOver && n === 0);
      this.wasKnown = this.#found >= 0;
      const to = this.#target(now);
      this.isFull = to < 0;
      if (this.isFull) return others;
      const old = this.#table.words[to] ?? 0;
      const next = ((member << TICK_BITS) | now) >>> 0;
      // A word that changed since the pass belongs to another worker's member, unless it is this one.
      const isMine = this.wasKnown ? old >>> TICK_BITS === member : this.#mayReplace(old, now);
      if (isMine && (old === next || Atomics.compareExchange(this.#table.words, to, old, next) === old))
        return others + 1;
    }
    this.#table.lose();
    return this.#pass(record, member, now, false) + 1;
  }

  /** Returns the members in the window, excluding the `butWords` members from word `but` on. */
  count(record: number, nowMs: number, restSeconds: number, but = 0, butWords = 0): number {
    const now = this.#tick(nowMs);
    const count = this.#pass(record, 0, now, this.#isOver(restSeconds));
    if (butWords === 0 || count === 0) return count;
    const { words } = this.#table;
    let both = 0;
    for (let i = but; i < but + butWords; i++) {
      const word = words[i] ?? 0;
      if (word !== 0 && this.#counts(record, word >>> TICK_BITS, now)) both++;
    }
    return count - both;
  }

  /** Returns whether the member is stored, inside the window or not. */
  has(record: number, member: number, nowMs: number, restSeconds: number): boolean {
    this.#pass(record, member, this.#tick(nowMs), this.#isOver(restSeconds));
    return this.#found >= 0;
  }

  /** Removes the member, inside the window or not. */
  remove(record: number, member: number): void {
    const { words } = this.#table;
    for (let i = record + this.#at; i < record + this.#end; i++) {
      const word = words[i] ?? 0;
      // A worker that changes the word meanwhile has seen the member again.
      if (word !== 0 && word >>> TICK_BITS === member) Atomics.compareExchange(words, i, word, 0);
    }
  }

  /** Reads all words, removes expired members, and counts the others in the window, excluding `member`. */
  #pass(record: number, member: number, now: number, isOver: boolean): number {
    const { words } = this.#table;
    const end = record + this.#end;
    const windowTicks = this.#windowTicks;
    let count = 0;
    const keepTicks = isOver ? 0 : this.#keepTicks;
    let found = -1;
    let free = -1;
    let oldest = -1;
    let oldestAge = -1;
    for (let i = record + this.#at; i < end; i++) {
      const word = words[i] ?? 0;
      if (word === 0) {
        free = i;
        continue;
      }
      const age = ageOf(word, now);
      if (age >= keepTicks) {
        if (Atomics.compareExchange(words, i, word, 0) === word) free = i;
      } else if (word >>> TICK_BITS === member) found = i;
      else {
        if (age < windowTicks) count++;
        if (age > oldestAge) {
          oldestAge = age;
          oldest = i;
        }
      }
    }
    this.#found = found;
    this.#free = free;
    this.#oldest = oldest;
    return count;
  }

  /** Returns the index of the word to write; -1 for none. */
  #target(now: number): number {
    if (this.#found >= 0) return this.#found;
    if (this.#free >= 0 || !this.#replaces) return this.#free;
    return this.#mayReplace(this.#table.words[this.#oldest] ?? 0, now) ? this.#oldest : -1;
  }

  #mayReplace(word: number, now: number): boolean {
    return word === 0 || (this.#replaces && ageOf(word, now) >= this.#windowTicks);
  }

  #counts(record: number, member: number, now: number): boolean {
    const { words } = this.#table;
    for (let i = record + this.#at; i < record + this.#end; i++) {
      const word = words[i] ?? 0;
      if (word >>> TICK_BITS === member && word !== 0) return ageOf(word, now) < this.#windowTicks;
    }
    return false;
  }

  #isOver(restSeconds: number): boolean {
    return restSeconds * 1_000 > this.#keepMs || restSeconds * 1_000 < -AHEAD_TICKS * this.#tickMs;
  }

  #tick(nowMs: number): number {
    return Math.floor(nowMs / this.#tickMs) & TICK_MASK;
  }
}

function ageOf(word: number, now: number): number {
  const age = (now - word) & TICK_MASK;
  return age >= AHEAD_MIN ? 0 : age;
}
