import type { Table } from './table.ts';

/**
 * Good and bad outcomes by the time of their events, in parts of a window: one word each of epoch & 0xff << 24 | bad << 12 | good. The
 * oldest part is weighted by the fraction of it that is in the window. There is one more word than there are parts.
 *
 * Choice: parts instead of individual times, so that a corrected outcome can be reverted exactly. A part stops at 4,095 good and at 4,095
 * bad ones. The newer parts are exact; the edge of the window errs by up to one part.
 */
export interface RowCounterShape {
  /** Index of the first word in the record. */
  readonly at: number;
  readonly parts: number;
  readonly windowMs: number;
}

const EPOCH_MASK = 0xff;
const COUNT_MAX = 0xfff;
const BAD = 1 << 12;
const TRIES_MAX = 64;

export class OutcomeTally {
  /** Set by the last `read`. */
  good = 0;
  bad = 0;
  /** Bad outcomes divided by all, 0 to 1; 0 without any. */
  badShare = 0;
  readonly #table: Table;
  readonly #at: number;
  readonly #parts: number;
  readonly #windowMs: number;
  readonly #widthMs: number;

  constructor(table: Table, { at, parts, windowMs }: RowCounterShape) {
    this.#table = table;
    this.#at = at;
    this.#parts = parts;
    this.#windowMs = windowMs;
    this.#widthMs = windowMs / parts;
  }

  /** Counts the outcomes in the window and removes expired ones; after an idle time longer than the window, all of them. */
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
      // Accepts the next epoch: from a clock that is slightly ahead.
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

  /**
   * Adds or reverts an event's outcome; does nothing if the event is outside the window. Call `read` first, which removes expired parts.
   */
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
