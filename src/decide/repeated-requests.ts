import type { CustomerNumber } from '../kernel/brand.ts';
import type { Pending, Repeatable } from './pending-decision.ts';

/** How long decide remembers an `Idempotency-Key`, and how much. Source: contract, 5.6. */
export const REPEATS_MS = 30_000;
export const REPEATS_BYTES_MAX = 64 * 1024 * 1024;
export const REPEATS_PER_CUSTOMER_MAX = 100_000;

export type RepeatClaim =
  /** `first`, `outdated`: decide the request, then `finish` it. */
  | { readonly kind: 'first' | 'pending' | 'answered'; readonly of: Repeatable }
  | { readonly kind: 'outdated'; readonly of: Repeatable; readonly before: string }
  /** The key was used with another body. */
  | { readonly kind: 'conflict' };

/** Choice: what an entry takes beside its texts. */
const ENTRY_BYTES = 512;

interface Kept extends Repeatable {
  readonly customer: CustomerNumber;
  readonly key: string;
  bytes: number;
}

/**
 * Responses of decide by `Idempotency-Key`, for the time that a re-send needs: so that one which is sent again after a time-out counts
 * once. In the memory of one process; bounded by time, bytes, and keys of each customer, the oldest first out. Source: contract, 5.6.
 */
export class RepeatedRequests {
  /** By customer and key; each in the order of their arrival. */
  readonly #byCustomer = new Map<CustomerNumber, Map<string, Kept>>();
  readonly #inOrder = new Set<Kept>();
  readonly #nowMs: () => number;
  readonly #inputs: (customer: CustomerNumber) => string;
  #bytes = 0;

  /** `inputs`: changes whenever a list or rule of the customer is written. */
  constructor(nowMs: () => number, inputs: (customer: CustomerNumber) => string) {
    this.#nowMs = nowMs;
    this.#inputs = inputs;
  }

  get bytes(): number {
    return this.#bytes;
  }

  claim(customer: CustomerNumber, key: string, bodyHash: string): RepeatClaim {
    const nowMs = this.#nowMs();
    this.#removeOld(nowMs);
    const found = this.#byCustomer.get(customer)?.get(key);
    if (found === undefined) return { kind: 'first', of: this.#add(customer, key, bodyHash, nowMs) };
    if (found.bodyHash !== bodyHash) return { kind: 'conflict' };
    if (found.answer === null) return { kind: 'pending', of: found };
    const inputs = this.#inputs(customer);
    if (found.inputs === inputs) return { kind: 'answered', of: found };
    // Others wait for the new decision, as for a first one.
    const before = found.answer;
    this.#grow(found, -before.length);
    found.answer = null;
    found.inputs = inputs;
    return { kind: 'outdated', of: found, before };
  }

  /** Keeps the response, and returns the requests that waited for it. `answer` null: there is none to keep, and the next one is decided. */
  finish(of: Repeatable, answer: string | null): readonly Pending[] {
    const { waiting } = of;
    of.waiting = [];
    const kept = of as Kept;
    if (answer === null) this.#remove(kept);
    else {
      of.answer = answer;
      // It may have been the oldest of too many meanwhile.
      if (this.#inOrder.has(kept)) this.#grow(kept, answer.length);
      this.#shrink();
    }
    return waiting;
  }

  /** Keeps an outdated answer, because there was no new decision: the next request tries again, and still counts nothing. */
  restore(of: Repeatable, before: string): readonly Pending[] {
    of.inputs = '';
    return this.finish(of, before);
  }

  #add(customer: CustomerNumber, key: string, bodyHash: string, atMs: number): Kept {
    const added: Kept = {
      customer,
      key,
      bodyHash,
      atMs,
      inputs: this.#inputs(customer),
      answer: null,
      waiting: [],
      bytes: 0,
    };
    let own = this.#byCustomer.get(customer);
    if (own === undefined) {
      own = new Map();
      this.#byCustomer.set(customer, own);
    }
    own.set(key, added);
    this.#inOrder.add(added);
    this.#grow(added, ENTRY_BYTES + key.length);
    const [oldest] = own.values();
    if (own.size > REPEATS_PER_CUSTOMER_MAX && oldest !== undefined) this.#remove(oldest);
    this.#shrink();
    return added;
  }

  #grow(kept: Kept, bytes: number): void {
    kept.bytes += bytes;
    this.#bytes += bytes;
  }

  #shrink(): void {
    for (const oldest of this.#inOrder) {
      if (this.#bytes <= REPEATS_BYTES_MAX) return;
      this.#remove(oldest);
    }
  }

  #removeOld(nowMs: number): void {
    for (const oldest of this.#inOrder) {
      if (nowMs - oldest.atMs < REPEATS_MS) return;
      this.#remove(oldest);
    }
  }

  #remove(kept: Kept): void {
    if (!this.#inOrder.delete(kept)) return;
    this.#bytes -= kept.bytes;
    const own = this.#byCustomer.get(kept.customer);
    if (own?.get(kept.key) === kept) own.delete(kept.key);
    if (own?.size === 0) this.#byCustomer.delete(kept.customer);
  }
}
