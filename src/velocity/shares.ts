import type { CustomerNumber } from '../kernel/brand.ts';
import { isTestCustomer } from '../kernel/test-customers.ts';
import { AT_OWNERS, HEAD_OWNERS, HEAD_PUBLIC, LINE_WORDS, OWNERS, SEEN_MIN, WAYS } from './layout.ts';

/**
 * Divides the table among owners. An owner is a customer with one kind of its keys, one byte a record:
 * the customer's number modulo 127 << 1 | public. Customers whose numbers differ by a multiple of 127 share one owner's part, and thus
 * evict each other. The test keys of all customers are one customer, 127.
 *
 * Shares apply only when a new record finds neither an empty slot nor one whose record no longer counts. Then:
 * - The owner with the most records loses one. With several owners, one that floods the table evicts its own records.
 * - Among records of equal owners, those that were seen once go first, each time the least recently seen. A record is kept longer once it
 *   was seen again in a later second, or a success of its subject was reported; a reported failure alone is no reason. So a flood of
 *   subjects that are never seen again evicts itself, and not known people or the counters of an attack.
 * - While public keys together hold more than a quarter of the table, their records are evicted before those of secret keys, and a record
 *   of a public key evicts records of public keys only.
 * - While test keys hold more than a twentieth of the table, their records are evicted before all others, and they evict only each other's.
 * - An owner with over an eighth of the table evicts nothing of an owner that has less than half as much: its record is refused.
 *
 * The counts are of slots in use. They change together with the state of a slot, and are rebuilt when a snapshot is loaded.
 * Measured (full table of 64 MB, batches of 16, best of 60 runs each): an event of four known subjects costs the same, 3.6 µs; one that
 * creates four records costs 0.3 µs more than 10.8 µs.
 */

/** Choice: a customer that uses public keys only can still fill the whole table; if secret keys need it too, they get three quarters. */
const PUBLIC_SHARE = 1 / 4;
/** Source: contract, 3.11. */
const TEST_SHARE = 1 / 20;
/**
 * Choice: no owner below this share has a record refused because of its size, so that a customer of middle size among a hundred small ones
 * is never worse off than without shares.
 */
const OWN_SHARE = 1 / 8;

/** The customers of live keys are those below. */
const TEST_CUSTOMER = OWNERS / 2 - 1;
const TEST_OWNER = TEST_CUSTOMER << 1;
const PUBLIC = 1;
const WORD_BYTES = 4;
/** Byte of a line with one bit for each of its records that are kept longer. */
const AT_KEPT = LINE_WORDS * WORD_BYTES - 1;
/** Added to the rank of records that are evicted first, twice for those of test keys; exceeds any number of records. */
const FIRST = 2 ** 32;

/** Returned if the owner may not evict any of the records. */
export const REFUSED = -2;

export function ownerOf(customer: CustomerNumber, publicKey: boolean): number {
  const part = isTestCustomer(customer) ? TEST_CUSTOMER : customer % TEST_CUSTOMER;
  return (part << 1) | (publicKey ? PUBLIC : 0);
}

export class Shares {
  readonly #words: Uint32Array;
  readonly #bytes: Uint8Array;
  readonly #publicMax: number;
  readonly #testMax: number;
  readonly #ownMax: number;

  constructor(words: Uint32Array, capacity: number) {
    this.#words = words;
    this.#bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
    this.#publicMax = capacity * PUBLIC_SHARE;
    this.#testMax = capacity * TEST_SHARE;
    this.#ownMax = capacity * OWN_SHARE;
  }

  /** Returns the owner of the record whose tag is at `line + way`, `way` counted in words. */
  ownerAt(line: number, way: number): number {
    return this.#bytes[(line + AT_OWNERS) * WORD_BYTES + (way >> 1)] ?? 0;
  }

  /** Marks the slot as in use by this owner. Only the worker that claimed the slot may call it. */
  own(line: number, way: number, owner: number): void {
    this.#bytes[(line + AT_OWNERS) * WORD_BYTES + (way >> 1)] = owner;
    if (this.isKept(line, way)) Atomics.and(this.#bytes, line * WORD_BYTES + AT_KEPT, ~(1 << (way >> 1)));
    this.#add(owner, 1);
  }

  /** Returns whether the record is kept longer than those that were seen once. */
  isKept(line: number, way: number): boolean {
    return (((this.#bytes[line * WORD_BYTES + AT_KEPT] ?? 0) >>> (way >> 1)) & 1) !== 0;
  }

  keep(line: number, way: number): void {
    if (!this.isKept(line, way)) Atomics.or(this.#bytes, line * WORD_BYTES + AT_KEPT, 1 << (way >> 1));
  }

  /** Ends the use of the slot by its owner. Only the worker that claimed the slot may call it. */
  disown(line: number, way: number): void {
    this.#add(this.ownerAt(line, way), -1);
  }

  clear(): void {
    this.#words.fill(0, HEAD_OWNERS, HEAD_OWNERS + OWNERS);
    this.#words[HEAD_PUBLIC] = 0;
  }

  /** Chooses the record that a new one of `owner` evicts. Returns the index of its tag, or REFUSED. Only for groups without a free slot. */
  choose(one: number, other: number, owner: number): number {
    const words = this.#words;
    const isPublicOver = (words[HEAD_PUBLIC] ?? 0) > this.#publicMax;
    const isTestOver =
      (words[HEAD_OWNERS + TEST_OWNER] ?? 0) + (words[HEAD_OWNERS + TEST_OWNER + PUBLIC] ?? 0) > this.#testMax;
    const own = words[HEAD_OWNERS + owner] ?? 0;
    let best = REFUSED;
    let bestUsed = -1;
    let bestSeen = 0;
    let bestKept = 1;
    for (let n = 0; n < 2; n++) {
      const line = n === 0 ? one : other;
      const keptOnes = this.#bytes[line * WORD_BYTES + AT_KEPT] ?? 0;
      for (let way = 0; way < WAYS * 2; way += 2) {
        const seen = words[line + way + 1] ?? 0;
        if (seen < SEEN_MIN) continue;
        const at = this.ownerAt(line, way);
        const first = isTestOver && at >= TEST_OWNER ? 2 * FIRST : isPublicOver && (at & PUBLIC) !== 0 ? FIRST : 0;
        const used = (words[HEAD_OWNERS + at] ?? 0) + first;
        if (used < bestUsed) continue;
        const kept = (keptOnes >>> (way >> 1)) & 1;
        if (used === bestUsed && (kept > bestKept || (kept === bestKept && seen >= bestSeen))) continue;
        best = line + way;
        bestKept = kept;
        bestUsed = used;
        bestSeen = seen;
      }
    }
    if (isTestOver && owner >= TEST_OWNER) return bestUsed < 2 * FIRST ? REFUSED : best;
    const isOver = isPublicOver && (owner & PUBLIC) !== 0;
    if (isOver && bestUsed < FIRST) return REFUSED;
    const others = bestUsed % FIRST;
    const mayRefuse = isOver || bestUsed < FIRST;
    return mayRefuse && own > this.#ownMax && others * 2 < own ? REFUSED : best;
  }

  #add(owner: number, by: number): void {
    Atomics.add(this.#words, HEAD_OWNERS + owner, by);
    if ((owner & PUBLIC) !== 0) Atomics.add(this.#words, HEAD_PUBLIC, by);
  }
}

/** The owner bytes follow the tags and states of a line. */
if (AT_OWNERS * WORD_BYTES + WAYS > AT_KEPT) throw new Error('a line must have room for its owners');
