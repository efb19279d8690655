import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../../kernel/brand.ts';
import { tally } from '../../../kernel/tally.ts';
import { ENDPOINT_BYTES, endpointIdOf, isOfWebhook } from './row.ts';

/** Offset of the delivery's time (Unix ms), which begins the id at the end of an index key. */
const TIME_AT = ENDPOINT_BYTES;

/**
 * Counts of pending deliveries by endpoint, customer and time, kept in memory beside the index, so that neither metrics nor the search for
 * work scan it. Times are kept per second: a counter for each second in which a pending delivery was created. Deliveries of extraction jobs
 * are excluded from the times, because they may wait for hours, which is no sign of a problem.
 */
export class PendingCounts {
  readonly #endpoints = new Map<string, number>();
  readonly #customers = new Map<CustomerNumber, number>();
  readonly #seconds = new Map<number, number>();
  #total = 0;

  /** Counts an index in one scan; its values are the customer's number and a check sum. Measured: 100,000 keys in 90 ms. */
  static of(index: Database<Buffer, Buffer>): PendingCounts {
    const counts = new PendingCounts();
    for (const { key, value } of index.getRange())
      counts.add(Buffer.from(key), value.readUInt32BE(0) as CustomerNumber, 1);
    return counts;
  }

  get total(): number {
    return this.#total;
  }

  /** `by` is 1 for a key put into the index, -1 for a removed one. */
  add(key: Buffer, customer: CustomerNumber, by: 1 | -1): void {
    this.#total += by;
    tally(this.#customers, customer, by);
    tally(this.#endpoints, key.latin1Slice(0, ENDPOINT_BYTES), by);
    if (isOfWebhook(key)) tally(this.#seconds, Math.floor(key.readUIntBE(TIME_AT, 6) / 1000), by);
  }

  /** `endpoint` is kind and id. */
  ofEndpoint(endpoint: Buffer): number {
    return this.#endpoints.get(endpoint.latin1Slice(0, ENDPOINT_BYTES)) ?? 0;
  }

  ofCustomer(customer: CustomerNumber): number {
    return this.#customers.get(customer) ?? 0;
  }

  endpoints(): string[] {
    return Array.from(this.#endpoints.keys(), (bytes) => endpointIdOf(Buffer.from(bytes, 'latin1')));
  }

  /** Returns the second (Unix ms) in which the oldest pending webhook delivery was created; null without any. */
  oldestMs(): number | null {
    let oldest = Number.POSITIVE_INFINITY;
    for (const second of this.#seconds.keys()) oldest = Math.min(oldest, second);
    return this.#seconds.size === 0 ? null : oldest * 1000;
  }
}
