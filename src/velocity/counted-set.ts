import type { Table } from './table.ts';

/**
 * Values with the number of times each was seen, one word each: 13 bits of the value << 19 | count 10 bits << 9 | day last seen 9 bits; 0
 * is empty. A new value replaces the one with the lowest count; on a tie, the one not seen for longest.
 */
const VALUE_SHIFT = 19;
const COUNT_SHIFT = 9;
const DAY_MASK = 0x1ff;
export const COUNT_MAX = 0x3ff;
/** Values range from 1 to 8,191. */
const VALUE_MASK = 0x1fff;

export function valueOf(hash: number): number {
  return (hash ^ (hash >>> 13)) & VALUE_MASK || 1;
}

export interface CountedShape {
  /** Index of the first word in the record. */
  readonly at: number;
  readonly words: number;
}

export class CountedSet {
  readonly #words: Uint32Array;
  readonly #at: number;
  readonly #end: number;

  constructor({ words }: Table, shape: CountedShape) {
    this.#words = words;
    this.#at = shape.at;
    this.#end = shape.at + shape.words;
  }

  count(record: number, value: number): number {
    const at = this.#find(record, value);
    return at < 0 ? 0 : countOf(this.#words[at] ?? 0);
  }

  /** Increments the value's count and returns it. When it reaches `COUNT_MAX`, the caller must call `halve` before the next `add`. */
  add(record: number, value: number, day: number): number {
    const words = this.#words;
    const found = this.#find(record, value);
    const at = found < 0 ? this.#leastOf(record, day) : found;
    const word = words[at] ?? 0;
    const count = Math.min(COUNT_MAX, (found < 0 ? 0 : countOf(word)) + 1);
    // When two workers count at the same time, one count may be lost: acceptable, since counts are shares of a few dozen.
    Atomics.compareExchange(words, at, word, wordOf(value, count, day));
    return count;
  }

  /** Decrements the value's count; removes it at 0. */
  remove(record: number, value: number): void {
    const at = this.#find(record, value);
    if (at < 0) return;
    const word = this.#words[at] ?? 0;
    const count = countOf(word) - 1;
    Atomics.compareExchange(this.#words, at, word, count <= 0 ? 0 : wordOf(value, count, word & DAY_MASK));
  }

  halve(record: number): void {
    const words = this.#words;
    for (let i = record + this.#at; i < record + this.#end; i++) {
      const word = words[i] ?? 0;
      if (word === 0) continue;
      const count = Math.max(1, countOf(word) >> 1);
      Atomics.compareExchange(words, i, word, wordOf(word >>> VALUE_SHIFT, count, word & DAY_MASK));
    }
  }

  #find(record: number, value: number): number {
    const words = this.#words;
    for (let i = record + this.#at; i < record + this.#end; i++) {
      const word = words[i] ?? 0;
      if (word >>> VALUE_SHIFT === value && word !== 0) return i;
    }
    return -1;
  }

  #leastOf(record: number, day: number): number {
    const words = this.#words;
    let least = record + this.#at;
    let leastRank = Infinity;
    for (let i = record + this.#at; i < record + this.#end; i++) {
      const word = words[i] ?? 0;
      if (word === 0) return i;
      const rank = countOf(word) * (DAY_MASK + 1) - ((day - word) & DAY_MASK);
      if (rank >= leastRank) continue;
      leastRank = rank;
      least = i;
    }
    return least;
  }
}

function countOf(word: number): number {
  return (word >>> COUNT_SHIFT) & COUNT_MAX;
}

function wordOf(value: number, count: number, day: number): number {
  return ((value << VALUE_SHIFT) | (count << COUNT_SHIFT) | (day & DAY_MASK)) >>> 0;
}
