import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type {
  Extraction,
  ExtractionId,
  ExtractionPage,
  ExtractionQuery,
  FailureEntry,
  IdempotentOutcome,
} from '../../work/extraction-job.ts';
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
} from '../../work/extraction-state.ts';
import type { Counters } from './counters.ts';
import { committed, durably, type StoreWrite } from './durable.ts';
import { applyPart, type JobFacts, type StepPart } from './extractions/apply-results.ts';
import { extractionOf, type Job, JOB_KEY, JOB_VALUE } from './extractions/job-row.ts';
import type { JobOwner, JobOwners } from './extractions/owner-table.ts';
import type { JobNumber } from './extractions/row-keys.ts';
import { type EndedJob, LOOKED_AT_MAX, Retention, type RetentionBounds } from './extractions/retention.ts';
import { decodeState, encodeState } from './extractions/state-row.ts';
import { StepRoom, type StepRoomBounds } from './extractions/step-room.ts';
import type { ExtractionDeliveries, PendingDelivery } from './extractions/upload-table.ts';
import type { ExtractionRecords } from './extractions/record-table.ts';
import type { ExtractionSteps, FoundSteps } from './extractions/step-table.ts';
import type { Failures } from './failure-table.ts';
import type { Idempotency, IdempotentKey } from './idempotency-table.ts';
import { endOfCustomer } from './request-rows.ts';
import type { ContentChange, Sessions } from './session-table.ts';
import { type Slices, walkInSlices } from './turns.ts';
import { type OwnKey, type TypedTable, typedTable } from './typed-table.ts';
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
  readonly owners: JobOwners;
}

export interface ExtractionBounds extends CollectBounds, RetentionBounds, StepRoomBounds {
  /** How long an ended job is kept, with its records. */
  readonly keepMs: number;
  readonly scanRowsMax: number;
}

const BOUNDS: ExtractionBounds = {
  /** Source: contract, 11.2. */
  recordsMax: 1_000_000,
  /** Source: contract, 11.5. */
  syncRecordsMax: 1_000,
  /** Choice: 1,000,000 records of 2 KiB; larger results are seldom needed completely. */
  recordBytesMax: 2 * 2 ** 30,
  /** Choice: a week is enough time to fetch the results. */
  keepMs: 7 * 86_400_000,
  /** Choice: some 110,000 waiting pages, or a crawl of 1,000,000 whose lists are read as their pages are needed. */
  stepBytesPerJobMax: 60 * 2 ** 20,
  stepBytesPerCustomerMax: 256 * 2 ** 20,
  stepBytesMax: 2 ** 30,
  /** Choice: some 7,000 waiting pages; 800 MiB for as many jobs as run at a time. */
  stepBytesPerJobMin: 4 * 2 ** 20,
  /** Choice: 60 jobs an hour for a week. */
  jobsPerCustomerMax: 10_000,
  bytesPerCustomerMax: 8 * 2 ** 30,
  bytesMax: 32 * 2 ** 30,
  /** Choice: rows that one call of `page` scans, so that a rare filter never blocks the main thread for long. */
  scanRowsMax: 1_000,
};

export interface StoredJob {
  readonly job: Job;
  readonly state: ExtractionState;
}

export interface NewStoredJob {
  readonly job: Omit<Job, 'number'>;
  readonly steps: FoundSteps;
  readonly idempotency: {
    readonly encryptionKey: Uint8Array;
    readonly request: IdempotentKey;
    /** The secret that only the first response shows; null if there is none. */
    readonly newSecret: string | null;
    /** Returns the first response. The same function on all nodes of a cluster. */
    answer(job: Extraction, newSecret: string | null): Uint8Array;
  } | null;
  /** The number that all nodes of a cluster give the job, and the node that runs it; absent on a single node. */
  readonly shared?: { readonly number: number; readonly owner: JobOwner };
}

export type JobCreated =
  | { readonly kind: 'created'; readonly stored: StoredJob }
  /** The customer has the maximum number of idempotency keys. */
  | { readonly kind: 'limit_reached' }
  | Exclude<IdempotentOutcome, { kind: 'new' }>;

/** A part with what is to be written in the same transaction. */
export interface PartResult extends StepPart {
  /** The step's changes to the session; null if none. */
  readonly session: {
    readonly encryptionKey: Uint8Array;
    /** The changes as text, from which every node makes `change`. */
    readonly changesJson: string;
    readonly atMs: number;
    readonly change: ContentChange;
  } | null;
}

export interface AppliedResult {
  /** State of the job after the part; null if the job no longer exists. */
  readonly state: ExtractionState | null;
  /** False: the job had ended or the step was done before, so nothing was written. */
  readonly isTaken: boolean;
  /** Whether the job ended with this part. */
  readonly isEnd: boolean;
}

/** What is removed of a job in the background: rows that only running jobs need, when it ends; everything, when it expires. */
const CLEAN_WORK = 1;
const CLEAN_ALL = 2;

/**
 * The extraction jobs. Only the server writes them, on one thread. A new job is on the disk when `create` resolves. Results of steps are
 * only committed: a process crash does not undo them; a machine crash may undo the last ones, whose steps are then open again.
 */
export class ExtractionTable {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #tables: ExtractionTables;
  readonly #jobs: TypedTable<OwnKey<ExtractionId>, Omit<Job, 'customer' | 'id'>>;
  readonly #parts: ExtractionParts;
  #bounds: ExtractionBounds;
  readonly #retention: Retention;
  readonly #stepRoom: StepRoom;

  constructor(
    root: RootDatabase<Buffer, Buffer>,
    tables: ExtractionTables,
    parts: ExtractionParts,
    bounds: Partial<ExtractionBounds> = {},
  ) {
    this.#root = root;
    this.#tables = tables;
    this.#jobs = typedTable({ database: tables.jobs, key: JOB_KEY, value: JOB_VALUE });
    this.#parts = parts;
    this.#bounds = { ...BOUNDS, ...bounds };
    this.#retention = new Retention(tables.ended, this.#bounds);
    this.#stepRoom = new StepRoom(this.#bounds, () => this.open());
  }

  /** Bytes of the records of ended jobs. */
  get endedBytes(): number {
    return this.#retention.bytes;
  }

  /** Counts the rows of jobs again: call it after rows were written past this class. */
  recount(): void {
    this.#retention.forget();
    this.#stepRoom.forget();
  }

  /** Sets the maximum of the records of ended jobs, if it is below the usual one. */
  boundEnded(bytesMax: number): void {
    this.#retention.bound(Math.min(bytesMax, this.#bounds.bytesMax));
  }

  /** Sets an operator's own limit. Call it before any job runs: running jobs would be subject to two limits. */
  boundRecords(recordsMax: number): void {
    this.#bounds = { ...this.#bounds, recordsMax };
  }

  /** Returns how many records a job may have. */
  recordsMaxOf(job: Pick<Job, 'collect' | 'delivery'>): number {
    return recordsMaxOf(job, this.#bounds);
  }

  create({ job: given, steps, idempotency, shared }: NewStoredJob, nowMs: number): Promise<StoreWrite<JobCreated>> {
    return durably(this.#root, () => {
      const { request, encryptionKey } = idempotency ?? {};
      if (request !== undefined && encryptionKey !== undefined) {
        const found = this.#parts.idempotency.find(encryptionKey, request, nowMs);
        if (found.kind !== 'new') return found;
        if (!this.#parts.idempotency.hasRoom(request)) return { kind: 'limit_reached' };
      }
      const job: Job = { ...given, number: this.#numberOf(shared?.number) };
      const row = this.#jobs.row(job, job);
      if (shared !== undefined) this.#parts.owners.put(job.number, shared.owner);
      void this.#jobs.putRow(row);
      const place = u32Key(job.number);
      void this.#tables.open.put(place, withSum(place, row.key));
      const range = { from: 0, to: steps.rowBytes.length, at: 0 };
      const { added: found, bytes } = this.#parts.steps.add(job.number, steps, range, 0, Infinity);
      const state = { ...queuedState(), nextStep: found, openSteps: found, stepBytes: bytes, isWide: found > 1 };
      this.#stepRoom.count(job.customer, bytes);
      this.#putState(job.number, state);
      if (idempotency !== null) {
        const answer = idempotency.answer(extractionOf(job, state), idempotency.newSecret);
        this.#parts.idempotency.put(idempotency.encryptionKey, idempotency.request, answer, nowMs);
      }
      return { kind: 'created', stored: { job, state } };
    });
  }

  /** Returns the given number, or the next one. */
  #numberOf(given: number | undefined): JobNumber {
    const { counters } = this.#parts;
    if (given === undefined) return counters.rise('jobNumbers');
    const over = given - counters.get('jobNumbers');
    if (over > 0) counters.rise('jobNumbers', over);
    return given;
  }

  find(customer: CustomerNumber, id: ExtractionId): StoredJob | null {
    return this.#read({ customer, id });
  }

  async page(customer: CustomerNumber, query: ExtractionQuery, slices: Slices): Promise<ExtractionPage> {
    const rows: Extraction[] = [];
    const start =
      (query.after === null ? null : JOB_KEY.encode({ customer, id: query.after })) ?? endOfCustomer(customer);
    const range = { start, exclusiveStart: true, end: u32Key(customer), reverse: true };
    let looked = 0;
    let last: ExtractionId | null = null;
    let next: ExtractionId | null = null;
    await walkInSlices(this.#tables.jobs, range, slices, (key, value) => {
      // A further row after a full page shows that there is a next page.
      if (rows.length === query.limit || looked === this.#bounds.scanRowsMax) {
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
    const stored = this.#tables.states.getBinary(u32Key(job));
    return stored === undefined ? null : decodeState(Buffer.from(stored));
  }

  /** Yields the jobs that have not ended, in the order of their creation. */
  *open(): Generator<StoredJob> {
    for (const { value } of this.#tables.open.getRange()) {
      const stored = this.#read(JOB_KEY.decode(Buffer.from(withoutSum(value))));
      if (stored !== null) yield stored;
    }
  }

  /** Returns a job that has not ended by its number. */
  openJob(job: JobNumber): StoredJob | null {
    const value = this.#tables.open.getBinary(u32Key(job));
    return value === undefined ? null : this.#read(JOB_KEY.decode(withoutSum(value)));
  }

  /**
   * Removes all jobs that have not ended, because parts of their results are missing here. Resolves to their numbers. Their other rows are
   * removed by `clean`.
   */
  discardOpen(): Promise<StoreWrite<readonly JobNumber[]>> {
    return this.#write(committed, () => {
      const open = [...this.open()];
      this.#stepRoom.forget();
      for (const { job } of open) {
        this.#jobs.remove(job);
        void this.#tables.open.remove(u32Key(job.number));
        this.#removeRest(job);
      }
      return open.map(({ job }) => job.number);
    });
  }

  /** Starts queued jobs. */
  begin(jobs: readonly JobNumber[], nowMs: number): Promise<StoreWrite<null>> {
    return this.#write(committed, () => {
      for (const job of jobs) {
        const state = this.stateOf(job);
        if (state?.status === 'queued') this.#putState(job, begun(state, nowMs));
      }
      return null;
    });
  }

  /** Applies results of steps, in one transaction and in this order. */
  apply(results: readonly PartResult[], nowMs: number): Promise<StoreWrite<readonly AppliedResult[]>> {
    return this.#write(committed, () => {
      // Counted before any state changes in memory only.
      this.#stepRoom.load();
      const states = new Map<JobNumber, ExtractionState>();
      try {
        return results.map((result) => this.#applyOne(states, result, nowMs));
      } finally {
        // Once per job, and also when a later result fails: earlier writes stay.
        for (const [job, state] of states) this.#putState(job, state);
      }
    });
  }

  /** Ends a job from outside. State null: no such job; `isEnd` false: it had ended before. On the disk when it resolves. */
  end(
    job: JobFacts,
    failure: Failure,
    entries: readonly FailureEntry[],
    nowMs: number,
  ): Promise<StoreWrite<AppliedResult>> {
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

  /** Yields the unfinished deliveries of ended jobs, in the order of the jobs' creation. */
  pendingDeliveries(): Generator<PendingDelivery> {
    return this.#parts.deliveries.pending();
  }

  /** Returns the saved progress of a pending delivery; null if none was saved. */
  deliveryStateOf(job: JobNumber): string | null {
    return this.#parts.deliveries.stateOf(job);
  }

  /** Saves the progress of a pending delivery. Resolves to false if none is pending. */
  saveDelivery(job: JobNumber, state: string): Promise<StoreWrite<boolean>> {
    return this.#write(committed, () => this.#parts.deliveries.save(job, state));
  }

  /** Stores the result of a pending delivery and removes its progress. Resolves to false if none is pending. */
  delivered(job: JobNumber, status: 'delivered' | 'failed'): Promise<StoreWrite<boolean>> {
    return this.#write(committed, () => {
      const state = this.stateOf(job);
      const isPending = state?.delivery === 'pending' && hasEnded(state);
      if (isPending) this.#putState(job, { ...state, delivery: status });
      this.#parts.deliveries.remove(job);
      return isPending;
    });
  }

  /** Removes jobs that have expired or exceed the limits, at most `jobsMax`. `clean` removes their remaining rows. */
  prune(nowMs: number, jobsMax: number): Promise<StoreWrite<number>> {
    return this.#write(committed, () => {
      const due = [...this.#retention.expired(nowMs, jobsMax)];
      if (due.length === 0) due.push(...this.#crowdedOut());
      for (const job of due) this.#removeJob(job);
      return due.length;
    });
  }

  /** Removes remaining rows of ended and removed jobs, at most `rowsMax`. A smaller result means that nothing is left. */
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

  /** `states`: states after the previous results of this call; not written yet. */
  #applyOne(states: Map<JobNumber, ExtractionState>, result: PartResult, nowMs: number): AppliedResult {
    const { job } = result;
    const state = states.get(job.number) ?? this.stateOf(job.number);
    if (state === null) return { state, isTaken: false, isEnd: false };
    const { keepMs } = this.#bounds;
    const stepRoom = this.#stepRoom.left(job.customer, state.stepBytes);
    const applied = applyPart({ ...this.#parts, bounds: this.#bounds, keepMs, stepRoom }, state, result, nowMs);
    if (applied === null) return { state, isTaken: false, isEnd: false };
    const next = withDeliveryAtEnd(applied.state, job.delivery);
    this.#stepRoom.count(job.customer, next.stepBytes - state.stepBytes);
    states.set(job.number, next);
    this.#parts.failures.add({ ...job, jobId: job.id }, applied.entries);
    if (result.session !== null && job.session !== null)
      this.#parts.sessions.changeContent(
        result.session.encryptionKey,
        job.customer,
        job.session,
        result.session.change,
      );
    const isEnd = hasEnded(next);
    if (isEnd) this.#close(job, next);
    return { state: next, isTaken: true, isEnd };
  }

  /** Does the bookkeeping of a job's end. */
  #close({ number, customer, id }: JobFacts, state: ExtractionState): void {
    void this.#tables.open.remove(u32Key(number));
    this.#stepRoom.count(customer, -state.stepBytes);
    this.#retention.add({ number, customer, id, expiresAtMs: state.expiresAtMs ?? 0, bytes: state.recordBytes });
    this.#markForCleaning(number, CLEAN_WORK);
    if (state.delivery === 'pending') this.#parts.deliveries.add({ number, customer, id });
  }

  #removeJob(ended: EndedJob): void {
    const stored = this.#read(ended);
    this.#retention.remove(ended);
    if (stored === null) return;
    this.#jobs.remove(ended);
    this.#removeRest(stored.job);
  }

  #removeRest({ number, requestId }: Pick<Job, 'number' | 'requestId'>): void {
    this.#parts.failures.remove(requestId);
    void this.#tables.states.remove(u32Key(number));
    this.#parts.deliveries.remove(number);
    this.#parts.owners.remove(number);
    this.#markForCleaning(number, CLEAN_ALL);
  }

  #crowdedOut(): readonly EndedJob[] {
    const tooMuch = this.#retention.tooMuch((job) => this.stateOf(job)?.delivery === 'pending');
    if (tooMuch !== null) return [tooMuch];
    return this.#retention.crowded().flatMap((customer) => this.#oldestEnded(customer) ?? []);
  }

  /**
   * Returns the oldest ended job without a pending delivery; if all scanned jobs have one, the oldest. Jobs are sorted by creation, and few
   * of a customer's jobs are open.
   */
  #oldestEnded(customer: CustomerNumber): EndedJob | null {
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

  #read({ customer, id }: OwnKey<ExtractionId>): StoredJob | null {
    const row = this.#jobs.get({ customer, id });
    const state = row === null ? null : this.stateOf(row.number);
    return row === null || state === null ? null : { job: { customer, id, ...row }, state };
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
    if (written.kind === 'fault') this.recount();
    return written;
  }
}

/** What code outside the store sees of the table: in a cluster, writes go through the log of all nodes. */
export type ExtractionJobs = Pick<ExtractionTable, keyof ExtractionTable>;

/** Choice: jobs cleaned per call; most leave a few rows. */
const CLEAN_JOBS_MAX = 100;

function fits(job: Job, state: ExtractionState, query: ExtractionQuery): boolean {
  return (
    (query.status === null || query.status === state.status) &&
    (query.connector === null || query.connector === job.connector) &&
    (query.operation === null || query.operation === job.operation)
  );
}
