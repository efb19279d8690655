import type { Table } from './table.ts';

/**
 * Members, and whether the account has had them for over a day, one word each: 15 bits of the member << 17 | familiar << 16 | hour; 0 is
 * empty. The hour is when the member was first seen until it is familiar, then when it was last seen. Hours wrap around after 7 years.
 *
 * Choice: a day, so that signing in twice with a stolen password does not make a thief familiar, and the owner has a day to report it.
 * Choice: a new member replaces the newest that is not familiar, so a crowd of new members evicts at most one familiar member: the one not
 * seen for longest.
 */
const MEMBER_SHIFT = 17;
const FAMILIAR = 1 << 16;
const HOUR_MASK = 0xffff;
const FAMILIAR_HOURS = 24;
/** Ages from here on are times in the future. */
const AHEAD_MIN = HOUR_MASK - 24;

export interface FamiliarShape {
  /** Index of the first word in the record. */
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

  /** `hour` counts from 1970. */
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
    // When two workers write at the same time, one member is lost: it comes again, or did not belong to the account.
    if (next !== word) Atomics.compareExchange(words, at, word, next);
    return isNew;
  }

  has(record: number, member: number): boolean {
    return this.#find(record, member) >= 0;
  }

  /** Makes a familiar member one that was first seen in this hour. */
  doubt(record: number, member: number, hour: number): void {
    const at = this.#find(record, member);
    const word = this.#words[at] ?? 0;
    const next = ((member << MEMBER_SHIFT) | (hour & HOUR_MASK)) >>> 0;
    if (at >= 0 && (word & FAMILIAR) !== 0) Atomics.compareExchange(this.#words, at, word, next);
  }

  /** Removes a member; a familiar one only if `andFamiliar` is true. */
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
