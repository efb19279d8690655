import type { Rhythm } from '../risk/history.ts';
import { VELOCITY_RHYTHM_EVENTS_MIN } from '../kernel/velocity-limits.ts';
import type { CounterRing } from './counter.ts';
import type { Table } from './table.ts';

/**
 * The times of the last events, one word each: ms modulo 2^32, 0 is empty, in no order. Times outside the window are kept, because the
 * rhythm of a session needs them; those older than 24 days are removed.
 */
const AGE_MS_MAX = 2 ** 31;
/** Choice: tolerates different clocks of two workers, or a clock that steps back. */
const AHEAD_MIN = 2 ** 32 - 60_000;
const TRIES_MAX = 64;

export class MsRing implements CounterRing {
  pushedOutMs = -1;
  readonly #table: Table;
  readonly #at: number;
  readonly #words: number;
  readonly #windowMs: number;
  readonly #agesMs: Float64Array;

  constructor(table: Table, { at, words, windowMs }: { at: number; words: number; windowMs: number }) {
    this.#table = table;
    this.#at = at;
    this.#words = words;
    this.#windowMs = windowMs;
    this.#agesMs = new Float64Array(words);
  }

  add(record: number, nowMs: number): number {
    for (let n = 0; n < TRIES_MAX; n++) {
      const count = this.#tryAdd(record, nowMs);
      if (count > 0) return count;
    }
    this.#table.lose();
    return this.count(record, nowMs);
  }

  count(record: number, nowMs: number): number {
    const { words } = this.#table;
    const end = record + this.#at + this.#words;
    let count = 0;
    for (let i = record + this.#at; i < end; i++) {
      const word = words[i] ?? 0;
      if (word !== 0 && ageOf(word, nowMs) < this.#windowMs) count++;
    }
    return count;
  }

  /** Returns null with fewer than 8 events, and if all have the same time. */
  rhythm(record: number, nowMs: number): Rhythm | null {
    const { words } = this.#table;
    const ages = this.#agesMs;
    let events = 0;
    for (let i = record + this.#at; i < record + this.#at + this.#words; i++) {
      const word = words[i] ?? 0;
      if (word === 0) continue;
      const age = ageOf(word, nowMs);
      let to = events++;
      for (; to > 0 && (ages[to - 1] ?? 0) < age; to--) ages[to] = ages[to - 1] ?? 0;
      ages[to] = age;
    }
    return events < VELOCITY_RHYTHM_EVENTS_MIN ? null : rhythmOf(ages, events);
  }

  /** Returns how many events are then in the window; 0 if another worker changed the word first. */
  #tryAdd(record: number, nowMs: number): number {
    const { words } = this.#table;
    const end = record + this.#at + this.#words;
    let to = -1;
    let toWord = 0;
    let toAge = -1;
    let count = 0;
    for (let i = record + this.#at; i < end; i++) {
      const word = words[i] ?? 0;
      const age = word === 0 ? AGE_MS_MAX : ageOf(word, nowMs);
      if (age < this.#windowMs) count++;
      if (age > AGE_MS_MAX) Atomics.compareExchange(words, i, word, 0);
      if (age <= toAge) continue;
      to = i;
      toWord = word;
      toAge = age;
    }
    if (toAge > AGE_MS_MAX || Atomics.compareExchange(words, to, toWord, nowMs >>> 0 || 1) !== toWord) return 0;
    const isPushed = toAge < this.#windowMs;
    this.pushedOutMs = isPushed ? nowMs - toAge : -1;
    return isPushed ? count : count + 1;
  }
}

/** `ages` are sorted from the oldest event to the newest. */
function rhythmOf(ages: Float64Array, events: number): Rhythm | null {
  const gaps = events - 1;
  const mean = ((ages[0] ?? 0) - (ages[gaps] ?? 0)) / gaps;
  if (mean === 0) return null;
  let squares = 0;
  for (let i = 0; i < gaps; i++) squares += ((ages[i] ?? 0) - (ages[i + 1] ?? 0) - mean) ** 2;
  return { events, variation: Math.sqrt(squares / gaps) / mean };
}

function ageOf(word: number, nowMs: number): number {
  const age = (nowMs - word) >>> 0;
  return age >= AHEAD_MIN ? 0 : age;
}
