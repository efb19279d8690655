import { hash } from 'node:crypto';
import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { IDEMPOTENCY_KEYS_PER_CUSTOMER_MAX } from '../../kernel/limits.ts';
import type { IdempotentOutcome, IdempotentRequest } from '../../work/extraction-job.ts';
import { committed, type StoreWrite } from './durable.ts';
import { removeRows } from './request-rows.ts';
import { encrypt, decrypt } from '../../kernel/encryption.ts';
import type { RowCounters } from './row-counters.ts';
import { TableWalk } from './table-walk.ts';
import { withoutSum, withSum } from './value.ts';

/** Source: contract, 11.6: 24 h. */
export const IDEMPOTENCY_KEEP_MS = 86_400_000;
const BODY_AT = 8;
const BODY_BYTES = 32;
const ANSWER_AT = BODY_AT + BODY_BYTES;

export type IdempotentKey = IdempotentRequest & { readonly customer: CustomerNumber };

/** First responses by `Idempotency-Key`. They are encrypted, because a response may contain a secret that is shown only once. */
export class Idempotency {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #table: Database<Buffer, Buffer>;
  readonly #rowCounters: RowCounters;
  readonly #rowsMax: number;
  readonly #walk: TableWalk;

  constructor(
    root: RootDatabase<Buffer, Buffer>,
    table: Database<Buffer, Buffer>,
    rowCounters: RowCounters,
    rowsMax = IDEMPOTENCY_KEYS_PER_CUSTOMER_MAX,
  ) {
    this.#root = root;
    this.#table = table;
    this.#rowCounters = rowCounters;
    this.#rowsMax = rowsMax;
    this.#walk = new TableWalk(table);
  }

  find(encryptionKey: Uint8Array, request: IdempotentKey, nowMs: number): IdempotentOutcome {
    const key = keyOf(request);
    const stored = this.#table.getBinary(key);
    if (stored === undefined) return { kind: 'new' };
    const row = Buffer.from(withoutSum(stored));
    if (row.readDoubleBE(0) + IDEMPOTENCY_KEEP_MS <= nowMs) return { kind: 'new' };
    if (!row.subarray(BODY_AT, ANSWER_AT).equals(request.bodySha256)) return { kind: 'conflict' };
    const answer = decrypt(encryptionKey, row.subarray(ANSWER_AT), contextOf(key));
    return answer === null ? { kind: 'conflict' } : { kind: 'replay', answer };
  }

  /** Returns whether the customer may have one more key. An expired row of the same key is replaced. */
  hasRoom(request: IdempotentKey): boolean {
    return (
      this.#rowCounters.get('idempotency', request.customer) < this.#rowsMax || this.#table.doesExist(keyOf(request))
    );
  }

  /** Must be called inside the transaction that writes what the response reports, after a `find` in it returned `new`. */
  put(encryptionKey: Uint8Array, request: IdempotentKey, answer: Uint8Array, nowMs: number): void {
    const key = keyOf(request);
    const head = Buffer.allocUnsafe(ANSWER_AT);
    head.writeDoubleBE(nowMs, 0);
    head.set(request.bodySha256, BODY_AT);
    if (!this.#table.doesExist(key)) this.#rowCounters.add('idempotency', request.customer, 1);
    void this.#table.put(key, withSum(key, Buffer.concat([head, encrypt(encryptionKey, answer, contextOf(key))])));
  }

  /** Removes expired rows among the next `rowsMax`. */
  sweep(nowMs: number, rowsMax: number): Promise<StoreWrite<number>> {
    const isOld = (value: Buffer): boolean => value.readDoubleBE(0) + IDEMPOTENCY_KEEP_MS <= nowMs;
    const keys = this.#walk.next(rowsMax, isOld);
    if (keys.length === 0) return Promise.resolve({ kind: 'ok', value: 0 });
    return committed(this.#root, () => {
      // A row that was replaced by the same key meanwhile is a new one.
      const old = keys.filter((key) => {
        const value = this.#table.getBinary(key);
        return value !== undefined && isOld(value);
      });
      return removeRows(this.#table, this.#rowCounters, 'idempotency', old);
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
