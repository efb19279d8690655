import type { CustomerNumber } from '../base/brand.ts';
import { AT_OWNERS, HEAD_OWNERS, HEAD_PUBLIC, LINE_WORDS, OWNERS, SEEN_MIN, WAYS } from './layout.ts';

/**
 * Who has how much of the table. An owner is a customer with one kind of its keys, one byte a record: 7 bits of the customer's
 * number << 1 | public. Customers whose numbers differ by a multiple of 128 share one owner's part, and thus evict each other.
 *
 * Shares count only where a new record has neither an empty place nor one that counts no more. Then:
 * - The owner with the most records gives way, its least recently seen record first. With one owner that is the least recently
 *   seen of all; with several, whoever floods the table throws out its own.
 * - While public keys together have more than a quarter of the table, they give way before secret keys, and what a public key
 *   makes throws out records of public keys only.
 * - An owner that has over an eighth of the table takes nothing from one that has less than half as much: its record is refused.
 *
 * The counts are of places in use, changed together with the state of a place and counted anew when a snapshot is loaded.
 * Measured (full table of 64 MB, batches of 16, best of 60 runs each): an event of four known subjects costs the same, 3.6 µs; one
 * that makes four records 0.3 µs more than 10.8 µs.
 */

/** Choice: a customer whose pages alone ask still fills the whole table; where secret keys want it too, they get three quarters. */
const PUBLIC_SHARE = 1 / 4;
/** Choice: below it nobody is refused, so that a customer of middle size among a hundred small ones is never worse off than now. */
const OWN_SHARE = 1 / 8;

const CUSTOMER_MASK = OWNERS / 2 - 1;
const PUBLIC = 1;
const WORD_BYTES = 4;
/** More than there are records. */
const FIRST = 2 ** 32;

/** No place may be taken. */
export const REFUSED = -2;

export function ownerOf(customer: CustomerNumber, publicKey: boolean): number {
  return ((customer & CUSTOMER_MASK) << 1) | (publicKey ? PUBLIC : 0);
}

export class Shares {
  readonly #words: Uint32Array;
  readonly #bytes: Uint8Array;
  readonly #publicMax: number;
  readonly #ownMax: number;

  constructor(words: Uint32Array, capacity: number) {
    this.#words = words;
    this.#bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
    this.#publicMax = capacity * PUBLIC_SHARE;
    this.#ownMax = capacity * OWN_SHARE;
  }

  /** Of the record whose tag is at `line + way`, `way` counted in words. */
  ownerAt(line: number, way: number): number {
    return this.#bytes[(line + AT_OWNERS) * WORD_BYTES + (way >> 1)] ?? 0;
  }

  /** The place is in use for this owner from now on. Only for who has claimed it. */
  own(line: number, way: number, owner: number): void {
    this.#bytes[(line + AT_OWNERS) * WORD_BYTES + (way >> 1)] = owner;
    this.#add(owner, 1);
  }

  /** The place is in use for its owner no longer. Only for who has claimed it. */
  disown(line: number, way: number): void {
    this.#add(this.ownerAt(line, way), -1);
  }

  clear(): void {
    this.#words.fill(0, HEAD_OWNERS, HEAD_OWNERS + OWNERS);
    this.#words[HEAD_PUBLIC] = 0;
  }

  /** Whose record gives way to a new one of `owner`: where its tag is, or REFUSED. For groups without a place that is free. */
  choose(one: number, other: number, owner: number): number {
    const words = this.#words;
    const isPublicOver = (words[HEAD_PUBLIC] ?? 0) > this.#publicMax;
    const own = words[HEAD_OWNERS + owner] ?? 0;
    let best = REFUSED;
    let bestUsed = -1;
    let bestSeen = 0;
    for (let n = 0; n < 2; n++) {
      const line = n === 0 ? one : other;
      for (let way = 0; way < WAYS * 2; way += 2) {
        const seen = words[line + way + 1] ?? 0;
        if (seen < SEEN_MIN) continue;
        const at = this.ownerAt(line, way);
        const used = (words[HEAD_OWNERS + at] ?? 0) + (isPublicOver && (at & PUBLIC) !== 0 ? FIRST : 0);
        if (used < bestUsed || (used === bestUsed && seen >= bestSeen)) continue;
        best = line + way;
        bestUsed = used;
        bestSeen = seen;
      }
    }
    const isOver = isPublicOver && (owner & PUBLIC) !== 0;
    if (isOver && bestUsed < FIRST) return REFUSED;
    const others = bestUsed >= FIRST ? bestUsed - FIRST : bestUsed;
    const mayRefuse = isOver || bestUsed < FIRST;
    return mayRefuse && own > this.#ownMax && others * 2 < own ? REFUSED : best;
  }

  #add(owner: number, by: number): void {
    Atomics.add(this.#words, HEAD_OWNERS + owner, by);
    if ((owner & PUBLIC) !== 0) Atomics.add(this.#words, HEAD_PUBLIC, by);
  }
}

/** Where an owner's byte stands in a line: behind the tags and states. */
if (AT_OWNERS * WORD_BYTES + WAYS > LINE_WORDS * WORD_BYTES) throw new Error('a line must have room for its owners');
