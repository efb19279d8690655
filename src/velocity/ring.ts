import type { CounterRing } from './counter.ts';
import type { Table } from './table.ts';

/**
 * The times of the last events, each in 16 bits, two to a word, in no order. A time is in ticks of 1/24,000 of the window: 0 is
 * no event, and times of over twice the window would look like others, so those beyond the window are removed whenever the
 * record is used, and all of them after a rest as long as the window.
 *
 * A window ends up to one tick early, never late.
 */
export interface RingShape {
  /** First word in the record. */
  readonly at: number;
  /** Two events each. */
  readonly words: number;
  readonly windowMs: number;
}

const TICKS = 24_000;
const MASK = 0xffff;
/** Ages from here on are those of times to come, by 1/6 of the window: of another worker, or of a clock that was set back. */
const AHEAD_TICKS = 4_000;
const AHEAD_MIN = MASK - AHEAD_TICKS;
/** Choice: more than there are workers that could change a word at the same time. */
const TRIES_MAX = 64;

export class Ring implements CounterRing {
  /** The time of the event that the last `add` pushed out although it is inside of the window, ms; -1 without one. */
  pushedOutMs = -1;
  readonly #table: Table;
  readonly #at: number;
  readonly #end: number;
  readonly #windowMs: number;
  readonly #tickMs: number;

  constructor(table: Table, { at, words, windowMs }: RingShape) {
    this.#table = table;
    this.#at = at;
    this.#end = at + words;
    this.#windowMs = windowMs;
    this.#tickMs = windowMs / TICKS;
  }

  /** Events in the window; `restSeconds` since the record was used before. */
  count(record: number, nowMs: number, restSeconds: number): number {
    const words = this.#table.words;
    const now = this.#tick(nowMs);
    const isOver = restSeconds * 1_000 > this.#windowMs || restSeconds * 1_000 < -AHEAD_TICKS * this.#tickMs;
    let count = 0;
    for (let i = record + this.#at; i < record + this.#end; i++) {
      const word = words[i] ?? 0;
      if (word === 0) continue;
      const low = isOver ? 0 : this.#kept(word & MASK, now);
      const high = isOver ? 0 : this.#kept(word >>> 16, now);
      // One who changes the word at the same time has cleaned it, or added an event that must stay.
      if ((word & MASK) !== low || word >>> 16 !== high) {
        Atomics.compareExchange(words, i, word, ((high << 16) | low) >>> 0);
      }
      count += (low === 0 ? 0 : 1) + (high === 0 ? 0 : 1);
    }
    return count;
  }

  /** Adds an event and counts, the present one included. */
  add(record: number, nowMs: number, restSeconds: number): number {
    const count = this.count(record, nowMs, restSeconds);
    this.pushedOutMs = -1;
    for (let n = 0; n < TRIES_MAX; n++) {
      if (this.#tryAdd(record, nowMs)) return this.pushedOutMs < 0 ? count + 1 : count;
    }
    this.#table.lose();
    return count;
  }

  /** Puts the event where there is none, else in place of the oldest. */
  #tryAdd(record: number, nowMs: number): boolean {
    const words = this.#table.words;
    const now = this.#tick(nowMs);
    let oldestAt = record + this.#at;
    let oldestWord = 0;
    let oldestShift = 0;
    let oldestAge = -1;
    for (let i = record + this.#at; i < record + this.#end; i++) {
      const word = words[i] ?? 0;
      const shift = (word & MASK) === 0 ? 0 : 16;
      if (((word >>> shift) & MASK) === 0) return replace(words, i, word, shift, now);
      for (let side = 0; side <= 16; side += 16) {
        const age = ageOf((word >>> side) & MASK, now);
        if (age <= oldestAge) continue;
        oldestAt = i;
        oldestWord = word;
        oldestShift = side;
        oldestAge = age;
      }
    }
    if (!replace(words, oldestAt, oldestWord, oldestShift, now)) return false;
    if (oldestAge < TICKS) this.pushedOutMs = nowMs - oldestAge * this.#tickMs;
    return true;
  }

  /** 0 is no event, so that tick is taken for the next. */
  #tick(nowMs: number): number {
    return Math.floor(nowMs / this.#tickMs) & MASK || 1;
  }

  #kept(tick: number, now: number): number {
    return tick !== 0 && ageOf(tick, now) < TICKS ? tick : 0;
  }
}

function ageOf(tick: number, now: number): number {
  const age = (now - tick) & MASK;
  return age >= AHEAD_MIN ? 0 : age;
}

function replace(words: Uint32Array, at: number, word: number, shift: number, tick: number): boolean {
  const next = ((word & ~(MASK << shift)) | (tick << shift)) >>> 0;
  return Atomics.compareExchange(words, at, word, next) === word;
}
