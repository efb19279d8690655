import { randomBytes } from 'node:crypto';
import { KeyedHash } from '../base/keyed-hash.ts';
import { RATE_VISITOR_CELLS } from '../limits.ts';

/**
 * How often each source used each public key within a window, in constant memory: two cells a name by a keyed hash, of which the
 * smaller one counts. A name is never counted too low, and too high only where others share both of its cells; without the secret
 * nobody can choose to. A table of names would have to turn away or forget someone when a flood of addresses fills it.
 */
export class VisitorCounts {
  readonly #cells = new Uint32Array(RATE_VISITOR_CELLS);
  readonly #hash = new KeyedHash(randomBytes(8));
  #isClear = true;
  #first = 0;
  #second = 0;

  /** The count of a name, which `add` then refers to. */
  find(keyNumber: number, source: string): number {
    this.#hash.update(keyNumber, source);
    this.#first = this.#hash.low % RATE_VISITOR_CELLS;
    this.#second = this.#hash.high % RATE_VISITOR_CELLS;
    return Math.min(this.#cells[this.#first] ?? 0, this.#cells[this.#second] ?? 0);
  }

  /** Counts one more for the name that was found last. A cell that holds more already is another's. */
  add(): void {
    const next = Math.min(this.#cells[this.#first] ?? 0, this.#cells[this.#second] ?? 0) + 1;
    for (const at of [this.#first, this.#second]) this.#cells[at] = Math.max(next, this.#cells[at] ?? 0);
    this.#isClear = false;
  }

  clear(): void {
    if (!this.#isClear) this.#cells.fill(0);
    this.#isClear = true;
  }
}
