import type { Database } from 'lmdb';
import { BoundedCache } from '../../kernel/bounded-cache.ts';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { readListKey } from '../../risk/lists/list-key.ts';
import {
  LISTED_KINDS_BYTES,
  type ListedKinds,
  noteListedKind,
  readListedKinds,
} from '../../risk/lists/listed-kinds.ts';
import { u32Key, withoutSum, withSum } from './value.ts';

/** Choice: 4,096 customers at some 400 bytes each. */
const CUSTOMERS_KEPT = 4_096;

interface Kept {
  readonly stored: Buffer;
  readonly kinds: ListedKinds;
}

/** Which kinds of values each customer lists (`listed-kinds.ts`), so that a decision looks up no others. */
export class ListKinds {
  readonly #table: Database<Buffer, Buffer>;
  readonly #kept = new BoundedCache<CustomerNumber, Kept>(CUSTOMERS_KEPT);
  readonly #scratch = Buffer.alloc(4);

  constructor(table: Database<Buffer, Buffer>) {
    this.#table = table;
  }

  /** Returns whether no customer lists anything but fingerprints and browsers. */
  isEmpty(): boolean {
    for (const _key of this.#table.getKeys({ limit: 1 })) return false;
    return true;
  }

  /** On the hot path. Null for a customer without such entries. */
  of(customer: CustomerNumber): ListedKinds | null {
    this.#scratch.writeUInt32BE(customer, 0);
    const stored = this.#table.getBinaryFast(this.#scratch);
    if (stored === undefined) return null;
    const kept = this.#kept.get(customer);
    // The buffer is borrowed and may be longer than its `length`.
    if (kept?.stored.compare(stored, 0, stored.length) === 0) return kept.kinds;
    const copy = Buffer.from(stored.subarray(0, stored.length));
    const kinds = readListedKinds(withoutSum(copy));
    this.#kept.set(customer, { stored: copy, kinds });
    return kinds;
  }

  /** Inside a write transaction: adds the kinds of new rows of `lists`, by their keys. */
  note(customer: CustomerNumber, keys: readonly Buffer[]): void {
    const values = keys.flatMap((key) => readListKey(key, 4) ?? []);
    if (values.length === 0) return;
    const key = u32Key(customer);
    const bits = Buffer.alloc(LISTED_KINDS_BYTES);
    const stored = this.#table.getBinary(key);
    if (stored !== undefined) withoutSum(stored).copy(bits);
    let isNew = stored === undefined;
    for (const value of values) isNew = noteListedKind(bits, value) || isNew;
    if (isNew) this.#write(this.#table.put(key, withSum(key, bits)));
  }

  /** Inside a write transaction, when the customer has no row of `lists` any more. */
  clear(customer: CustomerNumber): void {
    const key = u32Key(customer);
    if (this.#table.doesExist(key)) this.#write(this.#table.remove(key));
  }

  /** Inside a batch, the promise rejects with the same error as the batch. */
  #write(written: Promise<boolean> | boolean): void {
    Promise.resolve(written).catch(() => {});
  }
}
