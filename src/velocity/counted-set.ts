import type { Table } from './table.ts';

/**
 * Values and how often each was seen, a word each: 13 bits of the value << 19 | count 10 bits << 9 | day of the last sight 9 bits;
 * 0 is none. A new value takes the place of the one seen least, of equals the one not seen for longest.
 */
const VALUE_SHIFT = 19;
const COUNT_SHIFT = 9;
const DAY_MASK = 0x1ff;
export const COUNT_MAX = 0x3ff;
/** Values are 1 to 8,191. */
const VALUE_MASK = 0x1fff;

export function valueOf(hash: number): number {
  return (hash ^ (hash >>> 13)) & VALUE_MASK || 1;
}

export interface CountedShape {
  /** First word in the record. */
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

  /** Counts the value once more. Returns its count; one of `COUNT_MAX` must be halved before the next. */
  add(record: number, value: number, day: number): number {
    const words = this.#words;
    const found = this.#find(record, value);
    const at = found < 0 ? this.#leastOf(record, day) : found;
    const word = words[at] ?? 0;
    const count = Math.min(COUNT_MAX, (found < 0 ? 0 : countOf(word)) + 1);
    // Of two that count at once one may be lost: counts are a share of some dozens.
    Atomics.compareExchange(words, at, word, wordOf(value, count, day));
    return count;
  }

  /** Takes one sight of the value back. */
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
