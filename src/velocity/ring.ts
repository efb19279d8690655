import type { CounterRing } from './counter.ts';
import type { Table } from './table.ts';

/**
 * The times of the last events, 16 bits each, two to a word, in no order. A time is in ticks of 1/24,000 of the window; 0 is empty. Times
 * wrap around after more than twice the window, so expired ones are removed whenever the record is used, and all of them after an idle time
 * as long as the window.
 *
 * A window ends up to one tick early, never late.
 */
export interface RingShape {
  /** Index of the first word in the record. */
  readonly at: number;
  /** Two events each. */
  readonly words: number;
  readonly windowMs: number;
}

const TICKS = 24_000;
const MASK = 0xffff;
/** Ages from here on are times in the future, by up to 1/6 of the window: from another worker, or a clock that was set back. */
const AHEAD_TICKS = 4_000;
const AHEAD_MIN = MASK - AHEAD_TICKS;
/** Choice: more than the number of workers that could change a word at the same time. */
const TRIES_MAX = 64;

export class Ring implements CounterRing {
  /** Time of the event that the last `add` overwrote although it is still inside the window, ms; -1 without one. */
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

  /** Returns the events in the window; `restSeconds` is the time since the last use of the record. Removes expired ones. */
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
      // A worker that changes the word at the same time has removed the same events, or added one that must stay.
      if (clean !== word) Atomics.compareExchange(words, i, word, clean);
      count += ((clean & MASK) === 0 ? 0 : 1) + (clean >>> 16 === 0 ? 0 : 1);
    }
    return count;
  }

  /** Adds an event and returns the count including it. */
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

  /**
   * Stores an event in an empty half, else over the oldest one. Returns the age of the overwritten event in ticks; 24,000 or more if it no
   * longer counted; -1 if another worker was faster, and the caller must try again.
   */
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

  /** 0 means empty, so tick 0 is stored as 1. */
  #tick(nowMs: number): number {
    return Math.floor(nowMs / this.#tickMs) & MASK || 1;
  }

  #isOver(restSeconds: number): boolean {
    return restSeconds * 1_000 > TICKS * this.#tickMs || restSeconds * 1_000 < -AHEAD_TICKS * this.#tickMs;
  }
}

/** Returns the word without expired events. */
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
