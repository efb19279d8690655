import type { AdmittedId } from '../../ports/admission.ts';

/** `remember`: this node admitted it alone. `release`: it was not accepted in the end. */
export type IdChangeKind = 'remember' | 'release';

/** 32-bit words of a change: hash low, hash high, expiry, key number, kind. */
const WORDS = 5;
const FIRST = 1_024;
const KINDS = ['remember', 'release'] as const satisfies readonly IdChangeKind[];

/**
 * Changes of request ids that the shared store has not taken yet, in their order. Bounded: when it is full the oldest change is dropped,
 * which is the one that expires first. 20 bytes each; the memory grows up to what an outage needs.
 */
export class IdChanges {
  readonly #max: number;
  #words = new Uint32Array(0);
  #from = 0;
  #count = 0;
  #dropped = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get count(): number {
    return this.#count;
  }

  get dropped(): number {
    return this.#dropped;
  }

  push(kind: IdChangeKind, { hashLow, hashHigh, expiresAtSeconds, keyNumber }: AdmittedId): void {
    if (this.#count === this.#max) {
      this.#dropped++;
      this.drop(1);
    }
    if (this.#count === this.#capacity) this.#grow();
    const at = ((this.#from + this.#count++) % this.#capacity) * WORDS;
    this.#words.set([hashLow, hashHigh, expiresAtSeconds, keyNumber, KINDS.indexOf(kind)], at);
  }

  /** Returns up to `max` of the oldest changes, all of one kind, without removing them. */
  peek(max: number): { readonly kind: IdChangeKind; readonly ids: readonly AdmittedId[] } {
    const ids: AdmittedId[] = [];
    const first = this.#word(0, 4);
    for (let n = 0; n < Math.min(max, this.#count) && this.#word(n, 4) === first; n++)
      ids.push({
        hashLow: this.#word(n, 0),
        hashHigh: this.#word(n, 1),
        expiresAtSeconds: this.#word(n, 2),
        keyNumber: this.#word(n, 3),
      });
    return { kind: KINDS[first] ?? 'remember', ids };
  }

  /** Removes the oldest changes. */
  drop(count: number): void {
    this.#from = (this.#from + count) % Math.max(1, this.#capacity);
    this.#count -= count;
    if (this.#count === 0) this.#words = new Uint32Array(0);
  }

  get #capacity(): number {
    return this.#words.length / WORDS;
  }

  #word(n: number, word: number): number {
    return this.#words[((this.#from + n) % Math.max(1, this.#capacity)) * WORDS + word] ?? 0;
  }

  #grow(): void {
    const next = new Uint32Array(Math.min(this.#max, Math.max(FIRST, 2 * this.#capacity)) * WORDS);
    const tail = this.#words.subarray(this.#from * WORDS);
    next.set(tail);
    next.set(this.#words.subarray(0, this.#from * WORDS), tail.length);
    this.#words = next;
    this.#from = 0;
  }
}
