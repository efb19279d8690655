import { PAGES_PER_JOB_MIN, PAGES_PER_RECORD_MAX } from '../kernel/limits.ts';
import {
  type Collect,
  type JobCounts,
  type ExtractionDelivery,
  type ExtractionStatus,
  type FailureReason,
  JOB_NOTES,
  type JobNote,
} from './extraction-job.ts';

/** The part of a job that changes while it runs. Times are Unix milliseconds. */
export interface ExtractionState {
  readonly status: ExtractionStatus;
  readonly tier: 'basic' | 'standard' | 'rendered';
  readonly failure: Failure | null;
  /** Failure of the first step that failed; becomes the job's own if nothing was collected, or with `hasLost`. */
  readonly firstFailure: Failure | null;
  readonly delivery: ExtractionDelivery['status'];
  readonly collected: number;
  /** The total number that the source reports; null before it does. */
  readonly announced: number | null;
  readonly pages: number;
  readonly errors: number;
  readonly duplicates: number;
  readonly credits: number;
  /** Bytes of the stored records. */
  readonly recordBytes: number;
  /** The number that the next new step gets. */
  readonly nextStep: number;
  readonly openSteps: number;
  /** Disk space of the open steps, and of the hashes of all steps' keys. */
  readonly stepBytes: number;
  /** Whether there were ever two open steps: the job is a crawl and not a chain of pages. */
  readonly isWide: boolean;
  /** Whether the rest of a list, of unknown size, was lost. `firstFailure` is then the failure of the first such loss. */
  readonly hasLost: boolean;
  /** Each at most once, in the order of `JOB_NOTES`. */
  readonly notes: readonly JobNote[];
  /** The source asked not to be called until then; 0 if it did not. */
  readonly pausedUntilMs: number;
  readonly startedAtMs: number | null;
  readonly finishedAtMs: number | null;
  readonly expiresAtMs: number | null;
}

export interface Failure {
  readonly reason: FailureReason;
  readonly retryable: boolean;
}

/** Failure of a step. */
export interface StepFailure extends Failure {
  /** True if more than one page is lost: the rest of a list, of unknown size. */
  readonly losesRest?: boolean;
}

/** Limits of a job. */
export interface CollectBounds {
  /** Maximum number of records of a job with mode `all`. Source: contract, 11.2. */
  readonly recordsMax: number;
  /** Source: contract, 11.5. */
  readonly syncRecordsMax: number;
  readonly recordBytesMax: number;
}

export function queuedState(): ExtractionState {
  return {
    status: 'queued',
    tier: 'basic',
    failure: null,
    firstFailure: null,
    delivery: 'pending',
    collected: 0,
    announced: null,
    pages: 0,
    errors: 0,
    duplicates: 0,
    credits: 0,
    recordBytes: 0,
    nextStep: 0,
    openSteps: 0,
    stepBytes: 0,
    isWide: false,
    hasLost: false,
    notes: [],
    pausedUntilMs: 0,
    startedAtMs: null,
    finishedAtMs: null,
    expiresAtMs: null,
  };
}

export function hasEnded({ status }: Pick<ExtractionState, 'status'>): boolean {
  return status === 'succeeded' || status === 'failed';
}

/** Returns the state of a job that starts. A job that is no longer queued stays unchanged. */
export function begun(state: ExtractionState, nowMs: number): ExtractionState {
  return state.status === 'queued' ? { ...state, status: 'running', startedAtMs: nowMs } : state;
}

/** Returns the state of a job that ends. A job that has already ended stays unchanged. */
export function ended(state: ExtractionState, failure: Failure | null, nowMs: number, keepMs: number): ExtractionState {
  if (hasEnded(state)) return state;
  return {
    ...state,
    status: failure === null ? 'succeeded' : 'failed',
    failure,
    finishedAtMs: nowMs,
    expiresAtMs: nowMs + keepMs,
  };
}

/**
 * Returns a job that has ended with the delivery status that follows from its end alone. Records that the customer fetches here count as
 * delivered when they are collected. Choice: a failed job writes nothing to a store or a destination, so its delivery has failed too. A
 * webhook is notified of the failure, so its delivery stays pending.
 */
export function withDeliveryAtEnd(state: ExtractionState, { kind }: Pick<ExtractionDelivery, 'kind'>): ExtractionState {
  if (!hasEnded(state) || kind === 'webhook') return state;
  if (state.status === 'failed') return { ...state, delivery: 'failed' };
  return kind === 'store' || kind === 'sync' ? { ...state, delivery: 'delivered' } : state;
}

/** Returns the maximum number of records of a job. With mode `all`, one record more ends the job with `limit_reached`. */
export function recordsMaxOf(
  { collect, delivery }: { readonly collect: Collect; readonly delivery: Pick<ExtractionDelivery, 'kind'> },
  bounds: CollectBounds,
): number {
  if (collect.mode === 'limit') return collect.limit;
  return delivery.kind === 'sync' ? bounds.syncRecordsMax : bounds.recordsMax;
}

/**
 * Returns the failure that a failed step causes for its job; null if the job continues.
 *
 * A job with a single step ends with it. In a crawl, which is a job that ever had two open steps, a failed page is one of many and counts
 * as an error; the job fails with the first of these failures only if it ends without records. Some failures always end the job: an
 * expired session, a violation of a mandatory schema, a page that took all its steps, and with mode `all` the loss of the rest of a list. A
 * job with a limit may find enough records elsewhere: `verdictOfEnd` decides when no step is left.
 */
export function verdictOfFailure(
  state: ExtractionState,
  failure: StepFailure,
  { mode }: Pick<Collect, 'mode'>,
): Failure | null {
  const { reason, losesRest = false } = failure;
  // Where the rest of a list is lost, the limit is that of the step's result.
  const isSpent = reason === 'limit_reached' && !losesRest;
  const isJobs =
    reason === 'session_expired' || reason === 'schema_mismatch' || isSpent || (losesRest && mode === 'all');
  return isJobs || !(state.isWide || losesRest) ? plain(failure) : null;
}

/**
 * Returns the failure of a job with no step left; null for success. A job with a limit that lost the rest of a list keeps its records and
 * succeeds with the note `list_incomplete`, unless the loss is retryable.
 */
export function verdictOfEnd(state: ExtractionState, { mode }: Pick<Collect, 'mode'>): Failure | null {
  const { collected, hasLost, firstFailure } = state;
  if (collected === 0) return firstFailure;
  return hasLost && (mode === 'all' || firstFailure?.retryable === true) ? firstFailure : null;
}

/** Maximum number of pages that a job may read; Infinity with mode `all`. */
export function pagesMaxOf(collect: Collect): number {
  return collect.mode === 'all' ? Infinity : Math.max(PAGES_PER_JOB_MIN, PAGES_PER_RECORD_MAX * collect.limit);
}

/** Returns the failure of a job that reached `pagesMaxOf` with open steps: null if it has records, which it keeps. */
export function verdictOfPages({ collected }: ExtractionState): Failure | null {
  return collected > 0 ? null : { reason: 'limit_reached', retryable: false };
}

export function withNotes(state: ExtractionState, notes: readonly JobNote[]): ExtractionState {
  if (notes.every((note) => state.notes.includes(note))) return state;
  return { ...state, notes: JOB_NOTES.filter((note) => state.notes.includes(note) || notes.includes(note)) };
}

/**
 * Source: contract, 12.1: on success the target is the number collected. Before that, with mode `all` it is the larger of the announced and
 * the collected number.
 */
export function countsOf(state: ExtractionState, collect: Collect): JobCounts {
  const { status, collected, announced, pages, errors, duplicates } = state;
  const hoped = collect.mode === 'limit' ? collect.limit : Math.max(announced ?? 0, collected);
  return { collected, target: status === 'succeeded' ? collected : hoped, pages, errors, duplicates };
}

/** The cost of a step. */
interface Usage {
  readonly pages: number;
  readonly credits: number;
  readonly errors: number;
  readonly tier: 'basic' | 'standard' | null;
}

export function withUsage(state: ExtractionState, { pages, credits, errors, tier }: Usage): ExtractionState {
  return {
    ...state,
    pages: state.pages + pages,
    credits: state.credits + credits,
    errors: state.errors + errors,
    // Source: contract, 12.5: the most expensive tier that was used.
    tier: tier === 'standard' && state.tier === 'basic' ? 'standard' : state.tier,
  };
}

/**
 * Updates the state after a step has finished, with the number of steps still open. `pausedUntilMs` is the time until which the source
 * asked to wait, 0 if it did not.
 */
export function stepDone(
  state: ExtractionState,
  openSteps: number,
  failure: StepFailure | null,
  pausedUntilMs: number,
): ExtractionState {
  const next = {
    ...state,
    openSteps,
    isWide: state.isWide || openSteps > 1,
    pausedUntilMs: Math.max(state.pausedUntilMs, pausedUntilMs),
  };
  if (failure === null) return next;
  return failure.losesRest === true
    ? withLoss(next, failure)
    : { ...next, firstFailure: state.firstFailure ?? plain(failure) };
}

/** Marks the rest of a list, of unknown size, as lost by the failure. */
export function withLoss(state: ExtractionState, failure: StepFailure): ExtractionState {
  if (state.hasLost) return state;
  return withNotes({ ...state, hasLost: true, firstFailure: plain(failure) }, ['list_incomplete']);
}

function plain({ reason, retryable }: StepFailure): Failure {
  return { reason, retryable };
}
