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
import { EXTRACTION_BOUNDS, type ExtractionBounds } from './extractions/job-bounds.ts';
import { JobCleanup } from './extractions/job-cleanup.ts';
import { extractionOf, type Job, JOB_KEY } from './extractions/job-row.ts';
import { JobRows, type StoredJob } from './extractions/job-rows.ts';
import type { JobOwner, JobOwners } from './extractions/owner-table.ts';
import type { JobNumber } from './extractions/row-keys.ts';
import { type EndedJob, Retention } from './extractions/retention.ts';
import { StepRoom } from './extractions/step-room.ts';
import type { ExtractionDeliveries } from './extractions/upload-table.ts';
import type { ExtractionRecords } from './extractions/record-table.ts';
import type { ExtractionSteps, FoundSteps } from './extractions/step-table.ts';
import type { Failures } from './failure-table.ts';
import type { Idempotency, IdempotentKey } from './idempotency-table.ts';
import type { ContentChange, Sessions } from './session-table.ts';
import type { Slices } from './turns.ts';
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

/**
 * The extraction jobs. Only the server writes them, on one thread. A new job is on the disk when `create` resolves. Results of steps are
 * only committed: a process crash does not undo them; a machine crash may undo the last ones, whose steps are then open again.
 */
export class ExtractionTable {
  readonly #root: RootDatabase<Buffer, Buffer>;
  /** Progress of the deliveries of ended jobs. */
  readonly deliveries: Pick<ExtractionDeliveries, 'pending' | 'stateOf'>;
  readonly #open: Database<Buffer, Buffer>;
  readonly #rows: JobRows;
  readonly #cleanup: JobCleanup;
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
    this.deliveries = parts.deliveries;
    this.#open = tables.open;
    this.#rows = new JobRows(tables.jobs, tables.states);
    this.#cleanup = new JobCleanup(tables.cleanup, parts);
    this.#parts = parts;
    this.#bounds = { ...EXTRACTION_BOUNDS, ...bounds };
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
      const job: Job = { ...given, number: numberOf(this.#parts.counters, shared?.number) };
      if (shared !== undefined) this.#parts.owners.put(job.number, shared.owner);
      const row = this.#rows.put(job);
      const place = u32Key(job.number);
      void this.#open.put(place, withSum(place, row.key));
      const range = { from: 0, to: steps.rowBytes.length, at: 0 };
      const { added: found, bytes } = this.#parts.steps.add(job.number, steps, range, 0, Infinity);
      const state = { ...queuedState(), nextStep: found, openSteps: found, stepBytes: bytes, isWide: found > 1 };
      this.#stepRoom.count(job.customer, bytes);
      this.#rows.putState(job.number, state);
      if (idempotency !== null) {
        const answer = idempotency.answer(extractionOf(job, state), idempotency.newSecret);
        this.#parts.idempotency.put(idempotency.encryptionKey, idempotency.request, answer, nowMs);
      }
      return { kind: 'created', stored: { job, state } };
    });
  }

  find(customer: CustomerNumber, id: ExtractionId): StoredJob | null {
    return this.#rows.find({ customer, id });
  }

  page(customer: CustomerNumber, query: ExtractionQuery, slices: Slices): Promise<ExtractionPage> {
    return this.#rows.page(customer, query, slices, this.#bounds.scanRowsMax);
  }

  stateOf(job: JobNumber): ExtractionState | null {
    return this.#rows.stateOf(job);
  }

  /** Yields the jobs that have not ended, in the order of their creation. */
  *open(): Generator<StoredJob> {
    for (const { value } of this.#open.getRange()) {
      const stored = this.#rows.find(JOB_KEY.decode(Buffer.from(withoutSum(value))));
      if (stored !== null) yield stored;
    }
  }

  /** Returns a job that has not ended by its number. */
  openJob(job: JobNumber): StoredJob | null {
    const value = this.#open.getBinary(u32Key(job));
    return value === undefined ? null : this.#rows.find(JOB_KEY.decode(withoutSum(value)));
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
        void this.#open.remove(u32Key(job.number));
        this.#remove(job);
      }
      return open.map(({ job }) => job.number);
    });
  }

  /** Starts queued jobs. */
  begin(jobs: readonly JobNumber[], nowMs: number): Promise<StoreWrite<null>> {
    return this.#write(committed, () => {
      for (const job of jobs) {
        const state = this.stateOf(job);
        if (state?.status === 'queued') this.#rows.putState(job, begun(state, nowMs));
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
        for (const [job, state] of states) this.#rows.putState(job, state);
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
      this.#rows.putState(job.number, next);
      this.#parts.failures.add({ ...job, jobId: job.id }, entries);
      this.#close(job, next);
      return { state: next, isTaken: true, isEnd: true };
    });
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
      if (isPending) this.#rows.putState(job, { ...state, delivery: status });
      this.#parts.deliveries.remove(job);
      return isPending;
    });
  }

  /** Removes jobs that have expired or exceed the limits, at most `jobsMax`. `clean` removes their remaining rows. */
  prune(nowMs: number, jobsMax: number): Promise<StoreWrite<number>> {
    return this.#write(committed, () => {
      const due = [...this.#retention.expired(nowMs, jobsMax)];
      if (due.length === 0) due.push(...this.#crowdedOut());
      for (const one of due) {
        const stored = this.#rows.find(one);
        this.#retention.remove(one);
        if (stored !== null) this.#remove(stored.job);
      }
      return due.length;
    });
  }

  /** Removes remaining rows of ended and removed jobs, at most `rowsMax`. A smaller result means that nothing is left. */
  clean(rowsMax: number): Promise<StoreWrite<number>> {
    if (this.#cleanup.isEmpty()) return Promise.resolve({ kind: 'ok', value: 0 });
    return this.#write(committed, () => this.#cleanup.clean(rowsMax));
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
    void this.#open.remove(u32Key(number));
    this.#stepRoom.count(customer, -state.stepBytes);
    this.#retention.add({ number, customer, id, expiresAtMs: state.expiresAtMs ?? 0, bytes: state.recordBytes });
    this.#cleanup.add(number, 'work');
    if (state.delivery === 'pending') this.#parts.deliveries.add({ number, customer, id });
  }

  /** Removes a job; `clean` removes its remaining rows. */
  #remove(job: Job): void {
    this.#rows.remove(job);
    this.#parts.failures.remove(job.requestId);
    this.#parts.deliveries.remove(job.number);
    this.#parts.owners.remove(job.number);
    this.#cleanup.add(job.number, 'all');
  }

  #crowdedOut(): readonly EndedJob[] {
    const tooMuch = this.#retention.tooMuch((job) => this.stateOf(job)?.delivery === 'pending');
    if (tooMuch !== null) return [tooMuch];
    return this.#retention.crowded().flatMap((customer) => this.#rows.oldestEnded(customer) ?? []);
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

/** Returns the given number, or the next one. */
function numberOf(counters: Counters, given: number | undefined): JobNumber {
  if (given === undefined) return counters.rise('jobNumbers');
  const over = given - counters.get('jobNumbers');
  if (over > 0) counters.rise('jobNumbers', over);
  return given;
}
