import type { Table } from './table.ts';

/**
 * Members and whether the account has had them for over a day, a word each: 15 bits of the member << 17 | familiar << 16 | hour;
 * 0 is none. The hour is that of the first sight until a member is familiar, then that of the last one. Hours go round in 7 years.
 *
 * Choice: a day. A stranger who signs in twice is not known by that, and the person has a day to report him.
 * Choice: a new member takes the place of the newest that is not familiar, so a crowd of strangers throws out one familiar member
 * at most: that not seen for longest.
 */
const MEMBER_SHIFT = 17;
const FAMILIAR = 1 << 16;
const HOUR_MASK = 0xffff;
const FAMILIAR_HOURS = 24;
/** Ages from here on are those of times to come. */
const AHEAD_MIN = HOUR_MASK - 24;

export interface FamiliarShape {
  /** First word in the record. */
  readonly at: number;
  readonly words: number;
}

export class FamiliarSet {
  readonly #words: Uint32Array;
  readonly #at: number;
  readonly #end: number;

  constructor({ words }: Table, shape: FamiliarShape) {
    this.#words = words;
    this.#at = shape.at;
    this.#end = shape.at + shape.words;
  }

  /** `hour` since 1970. */
  isFamiliar(record: number, member: number, hour: number): boolean {
    const word = this.#words[this.#find(record, member)] ?? 0;
    return word >>> MEMBER_SHIFT === member && isMature(word, hour);
  }

  /** Adds or refreshes a member. Returns whether it was added. */
  see(record: number, member: number, hour: number, asFamiliar: boolean): boolean {
    const words = this.#words;
    let at = this.#find(record, member);
    const isNew = at < 0;
    if (isNew) at = this.#leastOf(record, hour);
    const word = words[at] ?? 0;
    const isFamiliar = asFamiliar || (!isNew && isMature(word, hour));
    if (!isNew && !isFamiliar) return false;
    const next = ((member << MEMBER_SHIFT) | (isFamiliar ? FAMILIAR : 0) | (hour & HOUR_MASK)) >>> 0;
    // Of two that write at once one is lost: it comes again, or was a stranger.
    if (next !== word) Atomics.compareExchange(words, at, word, next);
    return isNew;
  }

  /** Removes a member, a familiar one only where `andFamiliar` says so. */
  forget(record: number, member: number, hour: number, andFamiliar: boolean): void {
    const at = this.#find(record, member);
    const word = this.#words[at] ?? 0;
    if (at >= 0 && (andFamiliar || !isMature(word, hour))) Atomics.compareExchange(this.#words, at, word, 0);
  }

  #find(record: number, member: number): number {
    const words = this.#words;
    for (let i = record + this.#at; i < record + this.#end; i++) {
      const word = words[i] ?? 0;
      if (word >>> MEMBER_SHIFT === member && word !== 0) return i;
    }
    return -1;
  }

  #leastOf(record: number, hour: number): number {
    const words = this.#words;
    let least = record + this.#at;
    let leastRank = Infinity;
    for (let i = record + this.#at; i < record + this.#end; i++) {
      const word = words[i] ?? 0;
      if (word === 0) return i;
      const age = ageOf(word, hour);
      const rank = isMature(word, hour) ? 2 * HOUR_MASK - age : age;
      if (rank >= leastRank) continue;
      leastRank = rank;
      least = i;
    }
    return least;
  }
}

function isMature(word: number, hour: number): boolean {
  return (word & FAMILIAR) !== 0 || ageOf(word, hour) >= FAMILIAR_HOURS;
}

function ageOf(word: number, hour: number): number {
  const age = (hour - word) & HOUR_MASK;
  return age >= AHEAD_MIN ? 0 : age;
}
