import { hash } from 'node:crypto';
import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../base/brand.ts';
import { IDEMPOTENCY_KEYS_PER_CUSTOMER_MAX } from '../limits.ts';
import { committed, type StoreWrite } from './durable.ts';
import { removeRows } from './request-rows.ts';
import { seal, unseal } from './sealed.ts';
import type { Tallies } from './tallies.ts';
import { TableWalk } from './table-walk.ts';
import { withoutSum, withSum } from './value.ts';

/** Source: open points, section 5: 24 h. */
export const IDEMPOTENCY_KEEP_MS = 86_400_000;
const BODY_AT = 8;
const BODY_BYTES = 32;
const ANSWER_AT = BODY_AT + BODY_BYTES;

export interface IdempotentKey {
  readonly customer: CustomerNumber;
  /** As the customer wrote it. */
  readonly key: string;
  /** SHA-256 of the request's body. */
  readonly bodySha256: Uint8Array;
}

export type IdempotentFound =
  | { readonly kind: 'new' }
  | { readonly kind: 'replay'; readonly answer: Uint8Array }
  /** Another body, or an answer that was sealed under another key. */
  | { readonly kind: 'conflict' };

/** First answers by `Idempotency-Key`. They are sealed, because an answer may show a secret that is shown once. */
export class Idempotency {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #table: Database<Buffer, Buffer>;
  readonly #tallies: Tallies;
  readonly #rowsMax: number;
  readonly #walk: TableWalk;

  constructor(
    root: RootDatabase<Buffer, Buffer>,
    table: Database<Buffer, Buffer>,
    tallies: Tallies,
    rowsMax = IDEMPOTENCY_KEYS_PER_CUSTOMER_MAX,
  ) {
    this.#root = root;
    this.#table = table;
    this.#tallies = tallies;
    this.#rowsMax = rowsMax;
    this.#walk = new TableWalk(table);
  }

  find(sealing: Uint8Array, request: IdempotentKey, nowMs: number): IdempotentFound {
    const key = keyOf(request);
    const stored = this.#table.getBinary(key);
    if (stored === undefined) return { kind: 'new' };
    const row = Buffer.from(withoutSum(stored));
    if (row.readDoubleBE(0) + IDEMPOTENCY_KEEP_MS <= nowMs) return { kind: 'new' };
    if (!row.subarray(BODY_AT, ANSWER_AT).equals(request.bodySha256)) return { kind: 'conflict' };
    const answer = unseal(sealing, row.subarray(ANSWER_AT), contextOf(key));
    return answer === null ? { kind: 'conflict' } : { kind: 'replay', answer };
  }

  /** Whether the customer may have one more key. An expired row of the same key is replaced. */
  hasRoom(request: IdempotentKey): boolean {
    return this.#tallies.get('idempotency', request.customer) < this.#rowsMax || this.#table.doesExist(keyOf(request));
  }

  /** Only inside the write transaction of what the answer tells of, after a `find` in it that said `new`. */
  put(sealing: Uint8Array, request: IdempotentKey, answer: Uint8Array, nowMs: number): void {
    const key = keyOf(request);
    const head = Buffer.allocUnsafe(ANSWER_AT);
    head.writeDoubleBE(nowMs, 0);
    head.set(request.bodySha256, BODY_AT);
    if (!this.#table.doesExist(key)) this.#tallies.add('idempotency', request.customer, 1);
    void this.#table.put(key, withSum(key, Buffer.concat([head, seal(sealing, answer, contextOf(key))])));
  }

  /** Removes those that are too old among the next `rowsMax`. */
  sweep(nowMs: number, rowsMax: number): Promise<StoreWrite<number>> {
    const isOld = (value: Buffer): boolean => value.readDoubleBE(0) + IDEMPOTENCY_KEEP_MS <= nowMs;
    const keys = this.#walk.next(rowsMax, isOld);
    if (keys.length === 0) return Promise.resolve({ kind: 'ok', value: 0 });
    return committed(this.#root, () => {
      // One that was replaced since by the same key is a new one.
      const old = keys.filter((key) => {
        const value = this.#table.getBinary(key);
        return value !== undefined && isOld(value);
      });
      return removeRows(this.#table, this.#tallies, 'idempotency', old);
    });
  }
}

function keyOf({ customer, key }: IdempotentKey): Buffer {
  const place = Buffer.allocUnsafe(4 + BODY_BYTES);
  place.writeUInt32BE(customer, 0);
  place.set(hash('sha256', key, 'buffer'), 4);
  return place;
}

function contextOf(key: Buffer): string {
  return `idempotency/${key.toString('hex')}`;
}
