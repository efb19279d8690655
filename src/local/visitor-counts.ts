import { randomBytes } from 'node:crypto';
import { KeyedHash } from '../kernel/keyed-hash.ts';
import { RATE_VISITOR_CELLS } from '../kernel/limits.ts';

/**
 * Counts how often each source used each public key within a window, in constant memory: a keyed hash maps a name to two cells, and the
 * smaller one counts. A count is never too low; it is too high only when other names share both cells, which nobody can provoke without the
 * secret. A table of names would have to reject or forget names when a flood of addresses fills it.
 */
export class VisitorCounts {
  readonly #cells = new Uint32Array(RATE_VISITOR_CELLS);
  readonly #hash = new KeyedHash(randomBytes(8));
  #isClear = true;
  #first = 0;
  #second = 0;
  #firstBefore = 0;
  #secondBefore = 0;

  /** Returns the count of a name and selects it for `add`. */
  find(keyNumber: number, source: string): number {
    this.#hash.update(keyNumber, source);
    this.#first = this.#hash.low % RATE_VISITOR_CELLS;
    this.#second = this.#hash.high % RATE_VISITOR_CELLS;
    return Math.min(this.#cells[this.#first] ?? 0, this.#cells[this.#second] ?? 0);
  }

  /** Increments the count of the name that `find` selected. A cell with a higher count also belongs to another name and stays. */
  add(): void {
    this.#firstBefore = this.#cells[this.#first] ?? 0;
    this.#secondBefore = this.#cells[this.#second] ?? 0;
    const next = Math.min(this.#firstBefore, this.#secondBefore) + 1;
    for (const at of [this.#first, this.#second]) this.#cells[at] = Math.max(next, this.#cells[at] ?? 0);
    this.#isClear = false;
  }

  /** Reverts the last `add`. */
  revert(): void {
    this.#cells[this.#first] = this.#firstBefore;
    this.#cells[this.#second] = this.#secondBefore;
  }

  clear(): void {
    if (!this.#isClear) this.#cells.fill(0);
    this.#isClear = true;
  }
}
