import type { Database } from 'lmdb';
import type { CustomerNumber } from '../base/brand.ts';
import type { ExtractionId } from '../core/extraction.ts';
import type { JobNumber } from './extractions/keys.ts';
import { ID_BYTES, readId, writeId } from './request-rows.ts';
import { u32Key, withoutSum, withSum } from './value.ts';

/** A job that has ended, and whose records are still to be taken to where they go. */
export interface PendingDelivery {
  readonly customer: CustomerNumber;
  readonly id: ExtractionId;
  /** Something of it was saved, so it has begun. */
  readonly isBegun: boolean;
}

const ID_AT = 4;
const STATE_AT = ID_AT + ID_BYTES;

/** Where the deliveries stand that jobs which have ended still owe; of those that have ended too there is nothing here. */
export class ExtractionDeliveries {
  readonly #table: Database<Buffer, Buffer>;

  constructor(table: Database<Buffer, Buffer>) {
    this.#table = table;
  }

  /** In the order in which the jobs were made. */
  *pending(): Generator<PendingDelivery> {
    for (const { value } of this.#table.getRange()) {
      const row = Buffer.from(withoutSum(value));
      const customer = row.readUInt32BE(0) as CustomerNumber;
      yield { customer, id: readId('ext', row, ID_AT) as ExtractionId, isBegun: row.length > STATE_AT };
    }
  }

  /** What was saved last; null before that, and where nothing is pending. */
  stateOf(job: JobNumber): string | null {
    const stored = this.#table.getBinary(u32Key(job));
    const state = stored === undefined ? '' : Buffer.from(withoutSum(stored)).toString('utf8', STATE_AT);
    return state === '' ? null : state;
  }

  /** Only inside a write transaction. */
  add({
    number,
    customer,
    id,
  }: {
    readonly number: JobNumber;
    readonly customer: CustomerNumber;
    readonly id: ExtractionId;
  }): void {
    const row = Buffer.allocUnsafe(STATE_AT);
    row.writeUInt32BE(customer, 0);
    writeId('ext', id, row, ID_AT);
    const key = u32Key(number);
    void this.#table.put(key, withSum(key, row));
  }

  /** Only inside a write transaction. False where nothing is pending. */
  save(job: JobNumber, state: string): boolean {
    const key = u32Key(job);
    const stored = this.#table.getBinary(key);
    if (stored === undefined) return false;
    const row = Buffer.concat([stored.subarray(0, STATE_AT), Buffer.from(state)]);
    void this.#table.put(key, withSum(key, row));
    return true;
  }

  /** Only inside a write transaction. */
  remove(job: JobNumber): void {
    void this.#table.remove(u32Key(job));
  }
}
