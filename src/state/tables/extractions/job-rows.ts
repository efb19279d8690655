import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../../kernel/brand.ts';
import type { Extraction, ExtractionId, ExtractionPage, ExtractionQuery } from '../../../work/extraction-job.ts';
import { type ExtractionState, hasEnded } from '../../../work/extraction-state.ts';
import { endOfCustomer } from '../request-rows.ts';
import { type Slices, walkInSlices } from '../turns.ts';
import { type OwnKey, type StoredRow, type TypedTable, typedTable } from '../typed-table.ts';
import { u32Key, withSum } from '../value.ts';
import { extractionOf, type Job, JOB_KEY, JOB_VALUE } from './job-row.ts';
import { type EndedJob, LOOKED_AT_MAX } from './retention.ts';
import type { JobNumber } from './row-keys.ts';
import { decodeState, encodeState } from './state-row.ts';

export interface StoredJob {
  readonly job: Job;
  readonly state: ExtractionState;
}

/** The rows of jobs, which never change, and their states. Methods that write must be called inside a write transaction. */
export class JobRows {
  readonly #jobs: TypedTable<OwnKey<ExtractionId>, Omit<Job, 'customer' | 'id'>>;
  readonly #states: Database<Buffer, Buffer>;

  constructor(jobs: Database<Buffer, Buffer>, states: Database<Buffer, Buffer>) {
    this.#jobs = typedTable({ database: jobs, key: JOB_KEY, value: JOB_VALUE });
    this.#states = states;
  }

  /** Returns null without the job or its state. */
  find({ customer, id }: OwnKey<ExtractionId>): StoredJob | null {
    const row = this.#jobs.get({ customer, id });
    const state = row === null ? null : this.stateOf(row.number);
    return row === null || state === null ? null : { job: { customer, id, ...row }, state };
  }

  /** Scans at most `scanRowsMax` rows, in slices. */
  async page(
    customer: CustomerNumber,
    query: ExtractionQuery,
    slices: Slices,
    scanRowsMax: number,
  ): Promise<ExtractionPage> {
    const rows: Extraction[] = [];
    const start =
      (query.after === null ? null : JOB_KEY.encode({ customer, id: query.after })) ?? endOfCustomer(customer);
    const range = { start, exclusiveStart: true, end: u32Key(customer), reverse: true };
    let looked = 0;
    let last: ExtractionId | null = null;
    let next: ExtractionId | null = null;
    await walkInSlices(this.#jobs.database, range, slices, (key, value) => {
      // A further row after a full page shows that there is a next page.
      if (rows.length === query.limit || looked === scanRowsMax) {
        next = last;
        return 'end';
      }
      looked++;
      const job = { ...JOB_KEY.decode(Buffer.from(key)), ...this.#jobs.decode(Buffer.from(value)) };
      last = job.id;
      const state = this.stateOf(job.number);
      if (state !== null && fits(job, state, query)) rows.push(extractionOf(job, state));
      return 'on';
    });
    return { rows, next };
  }

  stateOf(job: JobNumber): ExtractionState | null {
    const stored = this.#states.getBinary(u32Key(job));
    return stored === undefined ? null : decodeState(Buffer.from(stored));
  }

  /**
   * Returns the oldest ended job without a pending delivery; if all scanned jobs have one, the oldest. Jobs are sorted by creation, and few
   * of a customer's jobs are open.
   */
  oldestEnded(customer: CustomerNumber): EndedJob | null {
    let oldest: EndedJob | null = null;
    let looked = 0;
    for (const [{ id }, { number }] of this.#jobs.range({ start: u32Key(customer), end: endOfCustomer(customer) })) {
      const state = this.stateOf(number);
      if (state === null || !hasEnded(state)) continue;
      const found = { number, customer, id, expiresAtMs: state.expiresAtMs ?? 0, bytes: state.recordBytes };
      if (state.delivery !== 'pending') return found;
      oldest ??= found;
      if (++looked >= LOOKED_AT_MAX) break;
    }
    return oldest;
  }

  /** Returns the row that was written. */
  put(job: Job): StoredRow {
    const row = this.#jobs.row(job, job);
    void this.#jobs.putRow(row);
    return row;
  }

  putState(job: JobNumber, state: ExtractionState): void {
    const key = u32Key(job);
    void this.#states.put(key, withSum(key, encodeState(state)));
  }

  /** Removes the row and the state. */
  remove(job: OwnKey<ExtractionId> & Pick<Job, 'number'>): void {
    this.#jobs.remove(job);
    void this.#states.remove(u32Key(job.number));
  }
}

function fits(job: Job, state: ExtractionState, query: ExtractionQuery): boolean {
  return (
    (query.status === null || query.status === state.status) &&
    (query.connector === null || query.connector === job.connector) &&
    (query.operation === null || query.operation === job.operation)
  );
}
