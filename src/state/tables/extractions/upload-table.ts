import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../../kernel/brand.ts';
import type { ExtractionId } from '../../../work/extraction-job.ts';
import type { JobNumber } from './row-keys.ts';
import { ID_BYTES, readId, writeId } from '../request-rows.ts';
import { u32Key, withoutSum, withSum } from '../value.ts';

/** An ended job whose records are still to be delivered. */
export interface PendingDelivery {
  readonly customer: CustomerNumber;
  readonly id: ExtractionId;
  /** Whether progress was saved, so the delivery has begun. */
  readonly isBegun: boolean;
}

const ID_AT = 4;
const STATE_AT = ID_AT + ID_BYTES;

/** Progress of the deliveries of ended jobs; finished deliveries have no row here. */
export class ExtractionDeliveries {
  readonly #table: Database<Buffer, Buffer>;

  constructor(table: Database<Buffer, Buffer>) {
    this.#table = table;
  }

  /** Yields the deliveries in the order of the jobs' creation. */
  *pending(): Generator<PendingDelivery> {
    for (const { value } of this.#table.getRange()) {
      const row = Buffer.from(withoutSum(value));
      const customer = row.readUInt32BE(0) as CustomerNumber;
      yield { customer, id: readId('ext', row, ID_AT) as ExtractionId, isBegun: row.length > STATE_AT };
    }
  }

  /** Returns the progress saved last; null if none was saved, or nothing is pending. */
  stateOf(job: JobNumber): string | null {
    const stored = this.#table.getBinary(u32Key(job));
    const state = stored === undefined ? '' : Buffer.from(withoutSum(stored)).toString('utf8', STATE_AT);
    return state === '' ? null : state;
  }

  /** Must be called inside a write transaction. */
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

  /** Must be called inside a write transaction. Returns false if nothing is pending. */
  save(job: JobNumber, state: string): boolean {
    const key = u32Key(job);
    const stored = this.#table.getBinary(key);
    if (stored === undefined) return false;
    const row = Buffer.concat([stored.subarray(0, STATE_AT), Buffer.from(state)]);
    void this.#table.put(key, withSum(key, row));
    return true;
  }

  /** Must be called inside a write transaction. */
  remove(job: JobNumber): void {
    void this.#table.remove(u32Key(job));
  }
}
