import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../base/brand.ts';
import { tally } from '../../base/tally.ts';
import { ENDPOINT_BYTES, endpointIdOf, isOfWebhook } from './row.ts';

/** Milliseconds since 1970 of the delivery that an index key ends in. */
const TIME_AT = ENDPOINT_BYTES;

/**
 * How much is pending, for whom and since when, kept in memory beside the index so that neither metrics nor a look for work walk
 * through it. Times are kept by the second: a number for each second in which something was made that still waits, but for what
 * extraction jobs send, which may wait for hours and so tells of no trouble.
 */
export class PendingCounts {
  readonly #endpoints = new Map<string, number>();
  readonly #customers = new Map<CustomerNumber, number>();
  readonly #seconds = new Map<number, number>();
  #total = 0;

  /** Counts an index by one walk; its values are the customer's number and their sum. Measured: 100,000 keys in 90 ms. */
  static of(index: Database<Buffer, Buffer>): PendingCounts {
    const counts = new PendingCounts();
    for (const { key, value } of index.getRange())
      counts.add(Buffer.from(key), value.readUInt32BE(0) as CustomerNumber, 1);
    return counts;
  }

  get total(): number {
    return this.#total;
  }

  /** `by` is 1 for a key that was put into the index, -1 for one that was removed. */
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

  /** Unix ms of the second in which the oldest of webhooks was made; null without any. */
  oldestMs(): number | null {
    let oldest = Number.POSITIVE_INFINITY;
    for (const second of this.#seconds.keys()) oldest = Math.min(oldest, second);
    return this.#seconds.size === 0 ? null : oldest * 1000;
  }
}
