import { createHmac } from 'node:crypto';
import { BoundedCache } from './bounded-cache.ts';
import type { CustomerNumber } from './brand.ts';
import { KeyedHash } from './keyed-hash.ts';

const KEY_BYTES = 8;
/** Choice: customers whose derived keys are cached, some 200 bytes each. */
const CUSTOMERS_KEPT = 4_096;

/**
 * 64-bit hashes of short texts, keyed for each customer: without the secret nobody can compute the hash of a known text, and equal texts
 * of two customers have different hashes.
 */
export class CustomerHash {
  /** The last result, two unsigned 32-bit halves. */
  low = 0;
  high = 0;
  readonly #secret: Uint8Array;
  readonly #keys = new BoundedCache<CustomerNumber, KeyedHash>(CUSTOMERS_KEPT);
  /** Key of the last customer: a decision hashes several texts of one. */
  #last: { readonly customer: CustomerNumber; readonly key: KeyedHash } | null = null;

  /** `secret` comes from `deriveKey` and is used for one purpose only. */
  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  /** Hashes `scope` (any 32 bits) and `text` into `low` and `high`. */
  update(customer: CustomerNumber, scope: number, text: string): void {
    const keyed = this.#keyOf(customer);
    keyed.update(scope, text);
    this.low = keyed.low;
    this.high = keyed.high;
  }

  #keyOf(customer: CustomerNumber): KeyedHash {
    if (this.#last?.customer === customer) return this.#last.key;
    const key = this.#keys.get(customer) ?? this.#makeKey(customer);
    this.#last = { customer, key };
    return key;
  }

  #makeKey(customer: CustomerNumber): KeyedHash {
    const digest = createHmac('sha256', this.#secret).update(`customer ${customer}`).digest();
    const made = new KeyedHash(digest.subarray(0, KEY_BYTES));
    this.#keys.set(customer, made);
    return made;
  }
}
