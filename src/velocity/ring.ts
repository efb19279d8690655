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
  /** What the last pass over the words found to put an event at: a word, as it was, which half of it, and the age there. */
  #to = 0;
  #toWord = 0;
  #toShift = 0;
  #toAge = 0;

  constructor(table: Table, { at, words, windowMs }: RingShape) {
    this.#table = table;
    this.#at = at;
    this.#end = at + words;
    this.#tickMs = windowMs / TICKS;
  }

  /** Events in the window; `restSeconds` since the record was used before. */
  count(record: number, nowMs: number, restSeconds: number): number {
    return this.#pass(record, this.#tick(nowMs), this.#isOver(restSeconds));
  }

  /** Adds an event and counts, the present one included. */
  add(record: number, nowMs: number, restSeconds: number): number {
    const { words } = this.#table;
    const now = this.#tick(nowMs);
    const isOver = this.#isOver(restSeconds);
    for (let n = 0; n < TRIES_MAX; n++) {
      const count = this.#pass(record, now, isOver && n === 0);
      const word = this.#toWord;
      const next = ((word & ~(MASK << this.#toShift)) | (now << this.#toShift)) >>> 0;
      if (Atomics.compareExchange(words, this.#to, word, next) !== word) continue;
      this.pushedOutMs = this.#toAge < TICKS ? nowMs - this.#toAge * this.#tickMs : -1;
      return this.#toAge < TICKS ? count : count + 1;
    }
    this.pushedOutMs = -1;
    this.#table.lose();
    return this.#pass(record, now, false);
  }

  /** Looks at all words, removes what is over, and counts the rest. */
  #pass(record: number, now: number, isOver: boolean): number {
    const { words } = this.#table;
    const end = record + this.#end;
    let count = 0;
    this.#toAge = -1;
    for (let i = record + this.#at; i < end; i++) {
      let word = words[i] ?? 0;
      if (word !== 0) {
        const low = isOver ? 0 : kept(word & MASK, now);
        const high = isOver ? 0 : kept(word >>> 16, now);
        const clean = ((high << 16) | low) >>> 0;
        // One who changes the word at the same time has cleaned it, or added an event that must stay.
        if (clean !== word && Atomics.compareExchange(words, i, word, clean) === word) word = clean;
        count += (low === 0 ? 0 : 1) + (high === 0 ? 0 : 1);
      }
      if (this.#toAge < TICKS) this.#offer(i, word, now);
    }
    return count;
  }

  /** An empty half is the best place, else that of the oldest event. */
  #offer(at: number, word: number, now: number): void {
    const lowAge = (word & MASK) === 0 ? TICKS : ageOf(word & MASK, now);
    const highAge = word >>> 16 === 0 ? TICKS : ageOf(word >>> 16, now);
    const age = Math.max(lowAge, highAge);
    if (age <= this.#toAge) return;
    this.#to = at;
    this.#toWord = word;
    this.#toShift = lowAge >= highAge ? 0 : 16;
    this.#toAge = age;
  }

  /** 0 is no event, so that tick is taken for the next. */
  #tick(nowMs: number): number {
    return Math.floor(nowMs / this.#tickMs) & MASK || 1;
  }

  #isOver(restSeconds: number): boolean {
    return restSeconds * 1_000 > TICKS * this.#tickMs || restSeconds * 1_000 < -AHEAD_TICKS * this.#tickMs;
  }
}

function kept(tick: number, now: number): number {
  return tick !== 0 && ageOf(tick, now) < TICKS ? tick : 0;
}

function ageOf(tick: number, now: number): number {
  const age = (now - tick) & MASK;
  return age >= AHEAD_MIN ? 0 : age;
}
