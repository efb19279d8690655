import type { Table } from './table.ts';

/**
 * Counts how many sessions arrived at an address and how many of them with a cold-start event, in fifths of the window. One word per fifth:
 * epoch & 0xff << 24 | cold << 12 | all. A session that stays at the address counts once per window. The oldest fifth is weighted by the
 * part of it that is inside the window. A fifth with 4,095 arrivals stops counting, so the share keeps its value.
 */
export const ARRIVAL_WORDS = 6;

const FIFTHS = ARRIVAL_WORDS - 1;
const COUNT_MASK = 0xfff;
const EPOCH_MASK = 0xff;
const COLD = 1 << 12;
const TRIES_MAX = 64;

/** Location of the words in the record, and the length of the window. */
export interface ArrivalsShape {
  readonly at: number;
  readonly windowMs: number;
}

export class Arrivals {
  /** Cold arrivals seen by the last `share`, with the oldest fifth in full: an upper bound of those in the window. */
  coldMost = 0;
  /** The same for all arrivals. */
  allMost = 0;
  readonly #table: Table;
  readonly #at: number;
  readonly #windowMs: number;
  readonly #widthMs: number;

  constructor(table: Table, { at, windowMs }: ArrivalsShape) {
    this.#table = table;
    this.#at = at;
    this.#windowMs = windowMs;
    this.#widthMs = windowMs / FIFTHS;
  }

  /** `isNew` is false when a session that was already counted turns out to be cold. */
  add(record: number, isCold: boolean, nowMs: number, isNew = true): void {
    const { words } = this.#table;
    const epoch = Math.floor(nowMs / this.#widthMs);
    const at = record + this.#at + (epoch % ARRIVAL_WORDS);
    const by = (isCold ? COLD : 0) + (isNew ? 1 : 0);
    for (let n = 0; n < TRIES_MAX; n++) {
      const word = words[at] ?? 0;
      const now = word >>> 24 === (epoch & EPOCH_MASK) ? word & 0xffffff : 0;
      if ((now & COUNT_MASK) === COUNT_MASK || now >>> 12 === COUNT_MASK) return;
      const next = (((epoch & EPOCH_MASK) << 24) | (now + by)) >>> 0;
      if (Atomics.compareExchange(words, at, word, next) === word) return;
    }
    this.#table.lose();
  }

  /**
   * Returns cold arrivals divided by all arrivals, 0 to 1; 0 without arrivals. Removes expired fifths; after an idle time longer than the
   * window, all of them.
   */
  share(record: number, nowMs: number, restSeconds: number): number {
    const { words } = this.#table;
    const epoch = Math.floor(nowMs / this.#widthMs);
    const partOfOldest = 1 - (nowMs - epoch * this.#widthMs) / this.#widthMs;
    const isOver = restSeconds * 1_000 > this.#windowMs || restSeconds * 1_000 < -this.#widthMs;
    let all = 0;
    let cold = 0;
    let coldMost = 0;
    let allMost = 0;
    for (let i = record + this.#at; i < record + this.#at + ARRIVAL_WORDS; i++) {
      const word = words[i] ?? 0;
      if (word === 0) continue;
      const age = (epoch - (word >>> 24)) & EPOCH_MASK;
      // The previous epoch modulo 256 plus one: from a clock that is slightly ahead of this one.
      const isAhead = age === EPOCH_MASK;
      if (isOver || (age > FIFTHS && !isAhead)) Atomics.compareExchange(words, i, word, 0);
      else {
        const part = age === FIFTHS ? partOfOldest : 1;
        all += part * (word & COUNT_MASK);
        cold += part * ((word >>> 12) & COUNT_MASK);
        coldMost += (word >>> 12) & COUNT_MASK;
        allMost += word & COUNT_MASK;
      }
    }
    this.coldMost = coldMost;
    this.allMost = allMost;
    return all === 0 ? 0 : Math.min(1, cold / all);
  }
}
