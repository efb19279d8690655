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
  readonly #tickMs: number;

  constructor(table: Table, { at, words, windowMs }: RingShape) {
    this.#table = table;
    this.#at = at;
    this.#end = at + words;
    this.#tickMs = windowMs / TICKS;
  }

  /** Events in the window; `restSeconds` since the record was used before. Removes those that are over. */
  count(record: number, nowMs: number, restSeconds: number): number {
    const { words } = this.#table;
    const now = this.#tick(nowMs);
    const isOver = this.#isOver(restSeconds);
    const end = record + this.#end;
    let count = 0;
    for (let i = record + this.#at; i < end; i++) {
      const word = words[i] ?? 0;
      if (word === 0) continue;
      const clean = isOver ? 0 : cleaned(word, now);
      // One who changes the word at the same time has cleaned it, or added an event that must stay.
      if (clean !== word) Atomics.compareExchange(words, i, word, clean);
      count += ((clean & MASK) === 0 ? 0 : 1) + (clean >>> 16 === 0 ? 0 : 1);
    }
    return count;
  }

  /** Adds an event and counts, the present one included. */
  add(record: number, nowMs: number, restSeconds: number): number {
    const now = this.#tick(nowMs);
    for (let n = 0; n < TRIES_MAX; n++) {
      const count = this.count(record, nowMs, n === 0 ? restSeconds : 0);
      const age = this.#put(record, now);
      if (age < 0) continue;
      this.pushedOutMs = age < TICKS ? nowMs - age * this.#tickMs : -1;
      return age < TICKS ? count : count + 1;
    }
    this.pushedOutMs = -1;
    this.#table.lose();
    return this.count(record, nowMs, 0);
  }

  /** Puts an event in an empty half, else in place of the oldest. Its age in ticks, from 24,000 on if none; -1: try again. */
  #put(record: number, now: number): number {
    const { words } = this.#table;
    const end = record + this.#end;
    let to = record + this.#at;
    let toWord = 0;
    let toAge = -1;
    for (let i = to; i < end && toAge < TICKS; i++) {
      const word = words[i] ?? 0;
      const age = Math.max(ageOrFree(word & MASK, now), ageOrFree(word >>> 16, now));
      if (age <= toAge) continue;
      to = i;
      toWord = word;
      toAge = age;
    }
    const shift = ageOrFree(toWord & MASK, now) === toAge ? 0 : 16;
    const next = ((toWord & ~(MASK << shift)) | (now << shift)) >>> 0;
    return Atomics.compareExchange(words, to, toWord, next) === toWord ? toAge : -1;
  }

  /** 0 is no event, so that tick is taken for the next. */
  #tick(nowMs: number): number {
    return Math.floor(nowMs / this.#tickMs) & MASK || 1;
  }

  #isOver(restSeconds: number): boolean {
    return restSeconds * 1_000 > TICKS * this.#tickMs || restSeconds * 1_000 < -AHEAD_TICKS * this.#tickMs;
  }
}

/** The word without events that are over. */
function cleaned(word: number, now: number): number {
  const low = ageOf(word & MASK, now) < TICKS ? word & MASK : 0;
  const high = ageOf(word >>> 16, now) < TICKS ? word & ~MASK : 0;
  return (high | low) >>> 0;
}

function ageOrFree(tick: number, now: number): number {
  return tick === 0 ? TICKS : ageOf(tick, now);
}

function ageOf(tick: number, now: number): number {
  const age = (now - tick) & MASK;
  return age >= AHEAD_MIN ? 0 : age;
}
