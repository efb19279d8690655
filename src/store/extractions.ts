import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../base/brand.ts';
import type { Extraction, ExtractionId, ExtractionStatus, FailureEntry } from '../core/extraction.ts';
import {
  begun,
  type CollectBounds,
  ended,
  type ExtractionState,
  type Failure,
  hasEnded,
  queuedState,
  recordsMaxOf,
  withDeliveryAtEnd,
} from '../core/extraction-state.ts';
import type { Counters } from './counters.ts';
import { committed, durably, type StoreWrite } from './durable.ts';
import { applyPart, type JobFacts, type StepPart } from './extractions/apply.ts';
import { decodeJob, encodeJob, extractionOf, type Job, jobKey } from './extractions/job-row.ts';
import type { JobNumber } from './extractions/keys.ts';
import { type EndedJob, LOOKED_AT_MAX, Retention, type RetentionBounds } from './extractions/retention.ts';
import { decodeState, encodeState } from './extractions/state-row.ts';
import type { ExtractionDeliveries, PendingDelivery } from './extraction-deliveries.ts';
import type { ExtractionRecords } from './extraction-records.ts';
import type { ExtractionSteps, FoundSteps } from './extraction-steps.ts';
import type { Failures } from './failures.ts';
import type { Idempotency, IdempotentFound, IdempotentKey } from './idempotency.ts';
import { endOfCustomer, rowIdOf } from './request-rows.ts';
import type { ContentChange, Sessions } from './sessions.ts';
import { type Slices, walkInSlices } from './turns.ts';
import { u32Key, withoutSum, withSum } from './value.ts';

export interface ExtractionTables {
  readonly jobs: Database<Buffer, Buffer>;
  readonly states: Database<Buffer, Buffer>;
  readonly open: Database<Buffer, Buffer>;
  readonly ended: Database<Buffer, Buffer>;
  readonly cleanup: Database<Buffer, Buffer>;
}

export interface ExtractionParts {
  readonly counters: Counters;
  readonly steps: ExtractionSteps;
  readonly records: ExtractionRecords;
  readonly deliveries: ExtractionDeliveries;
  readonly failures: Failures;
  readonly idempotency: Idempotency;
  readonly sessions: Sessions;
}

export interface ExtractionBounds extends CollectBounds, RetentionBounds {
  /** How long a job that has ended is kept, and its records with it. */
  readonly keepMs: number;
  /** Of one job, done ones included. */
  readonly stepsMax: number;
  readonly scanRowsMax: number;
}

const BOUNDS: ExtractionBounds = {
  /** Source: open points, section 5. */
  recordsMax: 1_000_000,
  /** Source: extraction specification, section 8. */
  syncRecordsMax: 1_000,
  /** Choice: 1,000,000 records of 2 KiB; what is longer is seldom wanted whole. */
  recordBytesMax: 2 * 2 ** 30,
  /** Choice: a week is time to fetch what was asked for. */
  keepMs: 7 * 86_400_000,
  /** Choice: a site of so many pages is more than a job may collect. */
  stepsMax: 2_000_000,
  /** Choice: 60 jobs an hour for a week. */
  jobsPerCustomerMax: 10_000,
  bytesPerCustomerMax: 8 * 2 ** 30,
  bytesMax: 32 * 2 ** 30,
  /** Choice: rows that one call of `page` looks at, so that a rare filter never holds the main thread for long. */
  scanRowsMax: 1_000,
};

export interface StoredJob {
  readonly job: Job;
  readonly state: ExtractionState;
}

export interface NewJob {
  readonly job: Omit<Job, 'number'>;
  readonly steps: FoundSteps;
  readonly idempotency: {
    readonly sealing: Uint8Array;
    readonly request: IdempotentKey;
    answer(job: Extraction): Uint8Array;
  } | null;
}

export type JobCreated =
  | { readonly kind: 'created'; readonly stored: StoredJob }
  /** The customer has as many idempotency keys as it may. */
  | { readonly kind: 'limit_reached' }
  | Exclude<IdempotentFound, { kind: 'new' }>;

/** A part with what is to be written beside it. */
export interface Result extends StepPart {
  /** What the step changed of the session; null where nothing. */
  readonly session: { readonly sealing: Uint8Array; readonly change: ContentChange } | null;
}

export interface Applied {
  /** Of the job after the part; null where there is no such job any more. */
  readonly state: ExtractionState | null;
  /** False: the job had ended or the step was done before, so nothing was written. */
  readonly isTaken: boolean;
  /** Whether the job ended with this part. */
  readonly isEnd: boolean;
}

export interface ExtractionQuery {
  /** The last job that was seen; null from the newest on. */
  readonly after: ExtractionId | null;
  readonly limit: number;
  /** A filter each; null for all. */
  readonly status: ExtractionStatus | null;
  readonly connector: string | null;
  readonly operation: string | null;
}

/** What is removed of a job by and by: what only work needs, when it ends; all, when it expires. */
const CLEAN_WORK = 1;
const CLEAN_ALL = 2;

/**
 * The jobs of extraction. Only the server writes them, on one thread. A new job is on the disk when `create` answers; what its steps
 * find is committed, which the end of the process does not undo, and of which the end of the machine may undo the last: then
 * those steps are open again.
 */
export class Extractions {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #tables: ExtractionTables;
  readonly #parts: ExtractionParts;
  #bounds: ExtractionBounds;
  readonly #retention: Retention;

  constructor(
    root: RootDatabase<Buffer, Buffer>,
    tables: ExtractionTables,
    parts: ExtractionParts,
    bounds: Partial<ExtractionBounds> = {},
  ) {
    this.#root = root;
    this.#tables = tables;
    this.#parts = parts;
    this.#bounds = { ...BOUNDS, ...bounds };
    this.#retention = new Retention(tables.ended, this.#bounds);
  }

  /** Bytes of the records of jobs that have ended. */
  get endedBytes(): number {
    return this.#retention.bytes;
  }

  /** An operator's own bound. To be set before any job runs: those that do would meet two. */
  boundRecords(recordsMax: number): void {
    this.#bounds = { ...this.#bounds, recordsMax };
  }

  /** How many records a job may have. */
  recordsMaxOf(job: Pick<Job, 'collect' | 'delivery'>): number {
    return recordsMaxOf(job, this.#bounds);
  }

  create({ job: given, steps, idempotency }: NewJob, nowMs: number): Promise<StoreWrite<JobCreated>> {
    return durably(this.#root, () => {
      const { request, sealing } = idempotency ?? {};
      if (request !== undefined && sealing !== undefined) {
        const found = this.#parts.idempotency.find(sealing, request, nowMs);
        if (found.kind !== 'new') return found;
        if (!this.#parts.idempotency.hasRoom(request)) return { kind: 'limit_reached' };
      }
      const job: Job = { ...given, number: this.#parts.counters.rise('jobNumbers') };
      const key = jobKey(job.customer, job.id);
      if (key === null) throw new Error('a job needs an id of its own');
      void this.#tables.jobs.put(key, withSum(key, encodeJob(job)));
      const place = u32Key(job.number);
      void this.#tables.open.put(place, withSum(place, key));
      const range = { from: 0, to: steps.rowBytes.length, at: 0 };
      const { added: found } = this.#parts.steps.add(job.number, steps, range, 0, Infinity);
      const state = { ...queuedState(), nextStep: found, openSteps: found, isWide: found > 1 };
      this.#putState(job.number, state);
      if (idempotency !== null) {
        const answer = idempotency.answer(extractionOf(job, state));
        this.#parts.idempotency.put(idempotency.sealing, idempotency.request, answer, nowMs);
      }
      return { kind: 'created', stored: { job, state } };
    });
  }

  find(customer: CustomerNumber, id: ExtractionId): StoredJob | null {
    const key = jobKey(customer, id);
    return key === null ? null : this.#read(key);
  }

  /** Newest first. */
  async page(
    customer: CustomerNumber,
    query: ExtractionQuery,
    slices: Slices,
  ): Promise<{ readonly rows: readonly Extraction[]; readonly next: ExtractionId | null }> {
    const rows: Extraction[] = [];
    const start = (query.after === null ? null : jobKey(customer, query.after)) ?? endOfCustomer(customer);
    const range = { start, exclusiveStart: true, end: u32Key(customer), reverse: true };
    let looked = 0;
    let last: ExtractionId | null = null;
    let next: ExtractionId | null = null;
    await walkInSlices(this.#tables.jobs, range, slices, (key, value) => {
      // One row more than the page holds tells that there is a next one.
      if (rows.length === query.limit || looked === this.#bounds.scanRowsMax) {
        next = last;
        return 'end';
      }
      looked++;
      const job = decodeJob(Buffer.from(key), Buffer.from(value));
      last = job.id;
      const state = this.stateOf(job.number);
      if (state !== null && fits(job, state, query)) rows.push(extractionOf(job, state));
      return 'on';
    });
    return { rows, next };
  }

  stateOf(job: JobNumber): ExtractionState | null {
    const stored = this.#tables.states.getBinary(u32Key(job));
    return stored === undefined ? null : decodeState(Buffer.from(stored));
  }

  /** The jobs that have not ended, in the order in which they were made. */
  *open(): Generator<StoredJob> {
    for (const { value } of this.#tables.open.getRange()) {
      const stored = this.#read(Buffer.from(withoutSum(value)));
      if (stored !== null) yield stored;
    }
  }

  /** Queued jobs that begin. */
  begin(jobs: readonly JobNumber[], nowMs: number): Promise<StoreWrite<null>> {
    return this.#write(committed, () => {
      for (const job of jobs) {
        const state = this.stateOf(job);
        if (state?.status === 'queued') this.#putState(job, begun(state, nowMs));
      }
      return null;
    });
  }

  /** What came of steps, in one transaction and in this order. */
  apply(results: readonly Result[], nowMs: number): Promise<StoreWrite<readonly Applied[]>> {
    return this.#write(committed, () => {
      const states = new Map<JobNumber, ExtractionState>();
      try {
        return results.map((result) => this.#applyOne(states, result, nowMs));
      } finally {
        // Once for each job, and also when a later result fails: what was written before it stays.
        for (const [job, state] of states) this.#putState(job, state);
      }
    });
  }

  /** Ends a job from outside. Null: there is none; `isEnd` false: it had ended before. On the disk when it answers. */
  end(job: JobFacts, failure: Failure, entries: readonly FailureEntry[], nowMs: number): Promise<StoreWrite<Applied>> {
    return this.#write(durably, () => {
      const state = this.stateOf(job.number);
      if (state === null || hasEnded(state)) return { state, isTaken: false, isEnd: false };
      const next = withDeliveryAtEnd(ended(state, failure, nowMs, this.#bounds.keepMs), job.delivery);
      this.#putState(job.number, next);
      this.#parts.failures.add({ ...job, jobId: job.id }, entries);
      this.#close(job, next);
      return { state: next, isTaken: true, isEnd: true };
    });
  }

  /** The deliveries of jobs that have ended which have not, in the order in which the jobs were made. */
  pendingDeliveries(): Generator<PendingDelivery> {
    return this.#parts.deliveries.pending();
  }

  /** Where a pending delivery stands, as it was saved; null before. */
  deliveryStateOf(job: JobNumber): string | null {
    return this.#parts.deliveries.stateOf(job);
  }

  /** Keeps where a pending delivery stands. False where none is pending. */
  saveDelivery(job: JobNumber, state: string): Promise<StoreWrite<boolean>> {
    return this.#write(committed, () => this.#parts.deliveries.save(job, state));
  }

  /** What came of a pending delivery, of which nothing else is kept then. False where none is pending. */
  delivered(job: JobNumber, status: 'delivered' | 'failed'): Promise<StoreWrite<boolean>> {
    return this.#write(committed, () => {
      const state = this.stateOf(job);
      const isPending = state?.delivery === 'pending' && hasEnded(state);
      if (isPending) this.#putState(job, { ...state, delivery: status });
      this.#parts.deliveries.remove(job);
      return isPending;
    });
  }

  /** Removes jobs that have expired, or that there is no room for, `jobsMax` at most. What they leave is for `clean`. */
  prune(nowMs: number, jobsMax: number): Promise<StoreWrite<number>> {
    return this.#write(committed, () => {
      const due = [...this.#retention.expired(nowMs, jobsMax)];
      if (due.length === 0) due.push(...this.#crowdedOut());
      for (const job of due) this.#removeJob(job);
      return due.length;
    });
  }

  /** Removes what jobs that ended or went have left, `rowsMax` rows at most. Less than that: there is no more. */
  clean(rowsMax: number): Promise<StoreWrite<number>> {
    const [first] = this.#tables.cleanup.getKeys({ limit: 1 });
    if (first === undefined) return Promise.resolve({ kind: 'ok', value: 0 });
    return this.#write(committed, () => {
      let rows = 0;
      for (const [key, what] of this.#toClean()) {
        rows += this.#cleanJob(key, what, rowsMax - rows);
        if (rows >= rowsMax) break;
      }
      return rows;
    });
  }

  /** `states`: as the results before it left them; not written yet. */
  #applyOne(states: Map<JobNumber, ExtractionState>, result: Result, nowMs: number): Applied {
    const { job } = result;
    const state = states.get(job.number) ?? this.stateOf(job.number);
    if (state === null) return { state, isTaken: false, isEnd: false };
    const { keepMs, stepsMax } = this.#bounds;
    const parts = { ...this.#parts, bounds: this.#bounds, keepMs, stepsMax };
    const applied = applyPart(parts, state, result, nowMs);
    if (applied === null) return { state, isTaken: false, isEnd: false };
    const next = withDeliveryAtEnd(applied.state, job.delivery);
    states.set(job.number, next);
    this.#parts.failures.add({ ...job, jobId: job.id }, applied.entries);
    if (result.session !== null && job.session !== null)
      this.#parts.sessions.changeContent(result.session.sealing, job.customer, job.session, result.session.change);
    const isEnd = hasEnded(next);
    if (isEnd) this.#close(job, next);
    return { state: next, isTaken: true, isEnd };
  }

  /** What the end of a job leads to. */
  #close({ number, customer, id }: JobFacts, state: ExtractionState): void {
    void this.#tables.open.remove(u32Key(number));
    this.#retention.add({ number, customer, id, expiresAtMs: state.expiresAtMs ?? 0, bytes: state.recordBytes });
    this.#markForCleaning(number, CLEAN_WORK);
    if (state.delivery === 'pending') this.#parts.deliveries.add({ number, customer, id });
  }

  #removeJob(ended: EndedJob): void {
    const key = jobKey(ended.customer, ended.id);
    const stored = key === null ? null : this.#read(key);
    this.#retention.remove(ended);
    if (key === null || stored === null) return;
    this.#parts.failures.remove(stored.job.requestId);
    void this.#tables.jobs.remove(key);
    void this.#tables.states.remove(u32Key(ended.number));
    this.#parts.deliveries.remove(ended.number);
    this.#markForCleaning(ended.number, CLEAN_ALL);
  }

  #crowdedOut(): readonly EndedJob[] {
    const tooMuch = this.#retention.tooMuch((job) => this.stateOf(job)?.delivery === 'pending');
    if (tooMuch !== null) return [tooMuch];
    return this.#retention.crowded().flatMap((customer) => this.#oldestEnded(customer) ?? []);
  }

  /**
   * The oldest that owes no delivery; where each that is looked at does, the oldest. Jobs lie in the order in which they were made,
   * and few of a customer's are open.
   */
  #oldestEnded(customer: CustomerNumber): EndedJob | null {
    let oldest: EndedJob | null = null;
    let looked = 0;
    for (const { key, value } of this.#tables.jobs.getRange({
      start: u32Key(customer),
      end: endOfCustomer(customer),
    })) {
      const { number } = decodeJob(Buffer.from(key), Buffer.from(value));
      const state = this.stateOf(number);
      if (state === null || !hasEnded(state)) continue;
      const id = rowIdOf('ext', Buffer.from(key)) as ExtractionId;
      const found = { number, customer, id, expiresAtMs: state.expiresAtMs ?? 0, bytes: state.recordBytes };
      if (state.delivery !== 'pending') return found;
      oldest ??= found;
      if (++looked >= LOOKED_AT_MAX) break;
    }
    return oldest;
  }

  #markForCleaning(job: JobNumber, what: number): void {
    const key = u32Key(job);
    void this.#tables.cleanup.put(key, withSum(key, Buffer.from([what])));
  }

  #toClean(): readonly (readonly [key: Buffer, what: number])[] {
    const rows = this.#tables.cleanup.getRange({ limit: CLEAN_JOBS_MAX });
    return Array.from(rows, ({ key, value }) => [Buffer.from(key), value.readUInt8(0)] as const);
  }

  #cleanJob(key: Buffer, what: number, rowsMax: number): number {
    const { steps, records } = this.#parts;
    const job = key.readUInt32BE(0);
    let rows = steps.clean(job, rowsMax);
    if (rows < rowsMax) rows += records.cleanKeys(job, rowsMax - rows);
    if (rows < rowsMax && what === CLEAN_ALL) rows += records.cleanChunks(job, rowsMax - rows);
    if (rows < rowsMax) void this.#tables.cleanup.remove(key);
    return rows;
  }

  #read(key: Buffer): StoredJob | null {
    const stored = this.#tables.jobs.getBinary(key);
    if (stored === undefined) return null;
    const job = decodeJob(key, Buffer.from(stored));
    const state = this.stateOf(job.number);
    return state === null ? null : { job, state };
  }

  #putState(job: JobNumber, state: ExtractionState): void {
    const key = u32Key(job);
    void this.#tables.states.put(key, withSum(key, encodeState(state)));
  }

  async #write<T>(
    how: (root: RootDatabase<Buffer, Buffer>, change: () => T) => Promise<StoreWrite<T>>,
    change: () => T,
  ): Promise<StoreWrite<T>> {
    const written = await how(this.#root, change);
    if (written.kind === 'fault') this.#retention.forget();
    return written;
  }
}

/** Choice: jobs that one call cleans; most leave a few rows. */
const CLEAN_JOBS_MAX = 100;

function fits(job: Job, state: ExtractionState, query: ExtractionQuery): boolean {
  return (
    (query.status === null || query.status === state.status) &&
    (query.connector === null || query.connector === job.connector) &&
    (query.operation === null || query.operation === job.operation)
  );
}
