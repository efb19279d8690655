import type { Table } from './table.ts';

/**
 * Good and bad outcomes in parts of a window, by the time of their events: a word each of epoch & 0xff << 24 | bad << 12 | good. The
 * oldest part counts by the part of it that is in the window. One more word than there are parts.
 *
 * Choice: parts in place of the times themselves, so that an outcome that is corrected can be taken back exactly. A part with 4,095 good
 * or bad ones takes in no more. Everything of the newest parts is exact; the edge errs by up to a part.
 */
export interface TallyShape {
  /** First word in the record. */
  readonly at: number;
  readonly parts: number;
  readonly windowMs: number;
}

const EPOCH_MASK = 0xff;
const COUNT_MAX = 0xfff;
const BAD = 1 << 12;
const TRIES_MAX = 64;

export class OutcomeTally {
  /** What the last `read` found. */
  good = 0;
  bad = 0;
  /** Bad ones among all, 0 to 1; 0 without any. */
  badShare = 0;
  readonly #table: Table;
  readonly #at: number;
  readonly #parts: number;
  readonly #windowMs: number;
  readonly #widthMs: number;

  constructor(table: Table, { at, parts, windowMs }: TallyShape) {
    this.#table = table;
    this.#at = at;
    this.#parts = parts;
    this.#windowMs = windowMs;
    this.#widthMs = windowMs / parts;
  }

  /** Counts what is in the window, and removes what is over: all of it after a rest of a window. */
  read(record: number, nowMs: number, restSeconds: number): void {
    const { words } = this.#table;
    const now = Math.floor(nowMs / this.#widthMs);
    const partOfOldest = 1 - (nowMs - now * this.#widthMs) / this.#widthMs;
    const isOver = restSeconds * 1_000 > this.#windowMs;
    let good = 0;
    let bad = 0;
    for (let i = record + this.#at; i <= record + this.#at + this.#parts; i++) {
      const word = words[i] ?? 0;
      if (word === 0) continue;
      const age = (now - (word >>> 24)) & EPOCH_MASK;
      // The epoch to come: of a clock that is a little ahead.
      if (isOver || (age > this.#parts && age !== EPOCH_MASK)) Atomics.compareExchange(words, i, word, 0);
      else {
        const part = age === this.#parts ? partOfOldest : 1;
        good += part * (word & COUNT_MAX);
        bad += part * ((word >>> 12) & COUNT_MAX);
      }
    }
    this.good = Math.round(good);
    this.bad = Math.round(bad);
    this.badShare = bad === 0 ? 0 : bad / (good + bad);
  }

  /** Adds an event's outcome, or takes it back; nothing where the event is out of the window. `read` comes first, and cleans. */
  change(record: number, eventMs: number, nowMs: number, isBad: boolean, by: 1 | -1): void {
    const { words } = this.#table;
    const epoch = Math.floor(eventMs / this.#widthMs);
    if (Math.floor(nowMs / this.#widthMs) - epoch > this.#parts) return;
    const at = record + this.#at + (epoch % (this.#parts + 1));
    for (let n = 0; n < TRIES_MAX; n++) {
      const word = words[at] ?? 0;
      const isHere = word !== 0 && word >>> 24 === (epoch & EPOCH_MASK);
      const counts = isHere ? word & 0xffffff : 0;
      const count = isBad ? counts >>> 12 : counts & COUNT_MAX;
      if (by === 1 ? count === COUNT_MAX : count === 0) return;
      const next = (((epoch & EPOCH_MASK) << 24) | (counts + by * (isBad ? BAD : 1))) >>> 0;
      if (Atomics.compareExchange(words, at, word, next) === word) return;
    }
    this.#table.lose();
  }
}
