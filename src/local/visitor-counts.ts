import { KeyedHash } from '../kernel/keyed-hash.ts';
import { RATE_VISITOR_CELLS } from '../kernel/limits.ts';
import { lockWord, raiseWord, unlockWord } from '../kernel/shared-words.ts';

/** Choice: two threads rarely count names of the same lock at the same time. */
const LOCKS = 1_024;
const CELLS_AT = LOCKS;
export const VISITOR_WORDS = LOCKS + RATE_VISITOR_CELLS;

/**
 * Counts how often each source used each public key within a window, in constant memory: a keyed hash maps a name to two cells, and the
 * smaller one counts. A count is never too low; it is too high only when other names share both cells, which nobody can provoke without the
 * secret. A table of names would have to reject or forget names when a flood of addresses fills it.
 *
 * Threads share the cells. A lock per name keeps two threads from counting the same name at once; other names only raise a cell.
 */
export class VisitorCounts {
  readonly #locks: Int32Array;
  readonly #cells: Uint32Array;
  readonly #hash: KeyedHash;

  /** `VISITOR_WORDS` words of shared memory from byte `at` on; `hashKey` is the same in all threads. */
  constructor(memory: SharedArrayBuffer, at: number, hashKey: Buffer) {
    this.#locks = new Int32Array(memory, at, LOCKS);
    this.#cells = new Uint32Array(memory, at + CELLS_AT * 4, RATE_VISITOR_CELLS);
    this.#hash = new KeyedHash(hashKey);
  }

  /** Returns the count of a name and selects it for `add`. */
  find(keyNumber: number, source: string): number {
    this.#hash.update(keyNumber, source);
    return this.#count();
  }

  /**
   * Counts one request of the selected name if fewer than `share` were counted and `take` takes one of the key's. Returns what remains of
   * both; -1 if it was not counted.
   */
  add(share: number, take: () => number): number {
    const { low, high } = this.#hash;
    lockWord(this.#locks, low % LOCKS);
    const used = this.#count();
    const ofKey = used < share ? take() : -1;
    // A cell with a higher count also belongs to another name and stays.
    if (ofKey >= 0) for (const at of [low, high]) raiseWord(this.#cells, at % RATE_VISITOR_CELLS, used + 1);
    unlockWord(this.#locks, low % LOCKS);
    return Math.min(share - used - 1, ofKey);
  }

  /** For the thread that begins a window. */
  clear(): void {
    this.#cells.fill(0);
  }

  #count(): number {
    const { low, high } = this.#hash;
    const cells = this.#cells;
    return Math.min(cells[low % RATE_VISITOR_CELLS] ?? 0, cells[high % RATE_VISITOR_CELLS] ?? 0);
  }
}
