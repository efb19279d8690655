import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../../kernel/brand.ts';
import type { ExtractionId } from '../../../work/extraction-job.ts';
import { readId, writeId } from '../request-rows.ts';
import { withSum } from '../value.ts';
import type { JobNumber } from './row-keys.ts';

export interface RetentionBounds {
  /** Limits per customer: ended jobs, and the bytes of their records. */
  readonly jobsPerCustomerMax: number;
  readonly bytesPerCustomerMax: number;
  /** Limit for all customers together. */
  readonly bytesMax: number;
}

export interface EndedJob {
  readonly number: JobNumber;
  readonly customer: CustomerNumber;
  readonly id: ExtractionId;
  readonly expiresAtMs: number;
  readonly bytes: number;
}

interface Usage {
  jobs: number;
  bytes: number;
}

/**
 * Choice: jobs scanned for one without a pending delivery. If all of them have one, the oldest is removed anyway: the disk is shared,
 * and one customer's records must not fill it.
 */
export const LOOKED_AT_MAX = 1_000;
const NUMBER_AT = 6;
const ID_AT = 4;
const BYTES_AT = 20;

/** Index of ended jobs by expiry. Selects jobs to remove: expired ones first, then those that exceed the limits. */
export class Retention {
  readonly #ended: Database<Buffer, Buffer>;
  readonly #bounds: RetentionBounds;
  #usage: Map<CustomerNumber, Usage> | null = null;
  #bytes = 0;
  #bytesMax: number;

  constructor(ended: Database<Buffer, Buffer>, bounds: RetentionBounds) {
    this.#ended = ended;
    this.#bounds = bounds;
    this.#bytesMax = bounds.bytesMax;
  }

  /** Sets the limit for all customers together. */
  bound(bytesMax: number): void {
    this.#bytesMax = bytesMax;
  }

  /** Bytes of the records of all ended jobs. */
  get bytes(): number {
    this.#loaded();
    return this.#bytes;
  }

  /** Must be called inside a write transaction. */
  add(job: EndedJob): void {
    const usage = this.#loaded();
    const key = keyOf(job.expiresAtMs, job.number);
    const value = Buffer.allocUnsafe(BYTES_AT + 8);
    value.writeUInt32BE(job.customer, 0);
    writeId('ext', job.id, value, ID_AT);
    value.writeDoubleBE(job.bytes, BYTES_AT);
    void this.#ended.put(key, withSum(key, value));
    this.#count(usage, job, 1);
  }

  /** Must be called inside a write transaction. */
  remove(job: EndedJob): void {
    const usage = this.#loaded();
    void this.#ended.remove(keyOf(job.expiresAtMs, job.number));
    this.#count(usage, job, -1);
  }

  /** Returns expired jobs, earliest expiry first. */
  expired(nowMs: number, max: number): readonly EndedJob[] {
    return this.#oldest(keyOf(nowMs + 1, 0), max);
  }

  /** Returns the job to remove if all jobs together exceed the limit: the oldest without a pending delivery, otherwise the oldest. */
  tooMuch(owes: (job: JobNumber) => boolean): EndedJob | null {
    if (this.bytes <= this.#bytesMax) return null;
    const oldest = this.#oldest(keyOf(2 ** 48 - 1, 0), LOOKED_AT_MAX);
    return oldest.find(({ number }) => !owes(number)) ?? oldest[0] ?? null;
  }

  /** Returns the customers that exceed their limits. */
  crowded(): readonly CustomerNumber[] {
    const { jobsPerCustomerMax, bytesPerCustomerMax } = this.#bounds;
    const isCrowded = ({ jobs, bytes }: Usage): boolean => jobs > jobsPerCustomerMax || bytes > bytesPerCustomerMax;
    return [...this.#loaded()].filter(([, usage]) => isCrowded(usage)).map(([customer]) => customer);
  }

  /** Call after a refused write: the counts in memory may be wrong. */
  forget(): void {
    this.#usage = null;
  }

  #oldest(end: Buffer, limit: number): readonly EndedJob[] {
    return [...this.#ended.getRange({ end, limit })].map(({ key, value }) =>
      read(Buffer.from(key), Buffer.from(value)),
    );
  }

  #loaded(): Map<CustomerNumber, Usage> {
    if (this.#usage !== null) return this.#usage;
    const usage = new Map<CustomerNumber, Usage>();
    this.#usage = usage;
    this.#bytes = 0;
    for (const { key, value } of this.#ended.getRange())
      this.#count(usage, read(Buffer.from(key), Buffer.from(value)), 1);
    return usage;
  }

  #count(usage: Map<CustomerNumber, Usage>, { customer, bytes }: EndedJob, sign: 1 | -1): void {
    const own = usage.get(customer) ?? { jobs: 0, bytes: 0 };
    own.jobs += sign;
    own.bytes += sign * bytes;
    this.#bytes += sign * bytes;
    if (own.jobs > 0) usage.set(customer, own);
    else usage.delete(customer);
  }
}

function keyOf(expiresAtMs: number, number: JobNumber): Buffer {
  const key = Buffer.allocUnsafe(NUMBER_AT + 4);
  key.writeUIntBE(Math.max(0, Math.floor(expiresAtMs)), 0, NUMBER_AT);
  key.writeUInt32BE(number, NUMBER_AT);
  return key;
}

function read(key: Buffer, value: Buffer): EndedJob {
  return {
    number: key.readUInt32BE(NUMBER_AT),
    customer: value.readUInt32BE(0) as CustomerNumber,
    id: readId('ext', value, ID_AT) as ExtractionId,
    expiresAtMs: key.readUIntBE(0, NUMBER_AT),
    bytes: value.readDoubleBE(BYTES_AT),
  };
}
