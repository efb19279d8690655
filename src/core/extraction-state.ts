import { PAGES_PER_JOB_MIN, PAGES_PER_RECORD_MAX } from '../limits.ts';
import {
  type Collect,
  type ExtractionCounts,
  type ExtractionDelivery,
  type ExtractionStatus,
  type FailureReason,
  JOB_NOTES,
  type JobNote,
} from './extraction.ts';

/** What of a job changes while it is worked on. Times are Unix milliseconds. */
export interface ExtractionState {
  readonly status: ExtractionStatus;
  readonly tier: 'basic' | 'standard' | 'rendered';
  readonly failure: Failure | null;
  /** Of the first step that failed; the job's own when nothing was collected, or `hasLost`. */
  readonly firstFailure: Failure | null;
  readonly delivery: ExtractionDelivery['status'];
  readonly collected: number;
  /** What the source says it has in all; null before it says so. */
  readonly announced: number | null;
  readonly pages: number;
  readonly errors: number;
  readonly duplicates: number;
  readonly credits: number;
  /** Of the stored records. */
  readonly recordBytes: number;
  /** The number of the next step that is found. */
  readonly nextStep: number;
  readonly openSteps: number;
  /** Whether there were ever two open steps: a crawl, and no chain of pages. */
  readonly isWide: boolean;
  /** Whether an unknown rest of a list was lost. `firstFailure` is that of the first such loss then. */
  readonly hasLost: boolean;
  /** Each once, in the order of `JOB_NOTES`. */
  readonly notes: readonly JobNote[];
  /** The source asks to be left alone until then; 0 without a wish. */
  readonly pausedUntilMs: number;
  readonly startedAtMs: number | null;
  readonly finishedAtMs: number | null;
  readonly expiresAtMs: number | null;
}

export interface Failure {
  readonly reason: FailureReason;
  readonly retryable: boolean;
}

/** Of a step. */
export interface StepFailure extends Failure {
  /** With it more is lost than one page: an unknown rest of a list. */
  readonly losesRest?: boolean;
}

/** The bounds that an ended job met, and for how long it is kept. */
export interface CollectBounds {
  /** Records of a job that collects all. Source: open points, section 5. */
  readonly recordsMax: number;
  /** Source: extraction specification, section 8. */
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

/** A job that is not queued any more stays as it is. */
export function begun(state: ExtractionState, nowMs: number): ExtractionState {
  return state.status === 'queued' ? { ...state, status: 'running', startedAtMs: nowMs } : state;
}

/** A job that has ended stays as it is, whatever comes later. */
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
 * A job that has ended, with what its end alone says of its delivery. Records that are fetched here are delivered when they are
 * gathered. Choice: of a job that failed nothing goes to a store or a destination, so its delivery has failed too; a webhook is told
 * of the failure, and what is pending then is that.
 */
export function withDeliveryAtEnd(state: ExtractionState, { kind }: Pick<ExtractionDelivery, 'kind'>): ExtractionState {
  if (!hasEnded(state) || kind === 'webhook') return state;
  if (state.status === 'failed') return { ...state, delivery: 'failed' };
  return kind === 'store' || kind === 'sync' ? { ...state, delivery: 'delivered' } : state;
}

/** How many records a job may have. One more than that ends a job that collects all as `limit_reached`. */
export function recordsMaxOf(
  { collect, delivery }: { readonly collect: Collect; readonly delivery: Pick<ExtractionDelivery, 'kind'> },
  bounds: CollectBounds,
): number {
  if (collect.mode === 'limit') return collect.limit;
  return delivery.kind === 'sync' ? Math.min(bounds.syncRecordsMax, bounds.recordsMax) : bounds.recordsMax;
}

/**
 * What a step that failed does to its job; null: it goes on.
 *
 * A chain of pages ends with its one step: what would have followed is lost, and half of it must not look like the whole. In a crawl,
 * which is a job that ever had two open steps, a page is one of many, and counts as an error; the job fails with the first of them
 * only when it ends with nothing. Some failures are the whole job's: a session that has expired, what does not hold to a
 * schema that must be held to, and of a job that wants all the loss of an unknown rest of a list. A job that wants so many may
 * get them elsewhere: `verdictOfEnd` decides when no step is left.
 */
export function verdictOfFailure(
  state: ExtractionState,
  failure: StepFailure,
  { mode }: Pick<Collect, 'mode'>,
): Failure | null {
  const { reason, losesRest = false } = failure;
  const isJobs = reason === 'session_expired' || reason === 'schema_mismatch' || (losesRest && mode === 'all');
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

/** Source: open points, section 5: on success the target is what was collected, and before it the larger of the two. */
export function countsOf(state: ExtractionState, collect: Collect): ExtractionCounts {
  const { status, collected, announced, pages, errors, duplicates } = state;
  const hoped = collect.mode === 'limit' ? collect.limit : Math.max(announced ?? 0, collected);
  return { collected, target: status === 'succeeded' ? collected : hoped, pages, errors, duplicates };
}

/** What a step has cost. */
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
    // Source: open points, section 5: the dearest that was used.
    tier: tier === 'standard' && state.tier === 'basic' ? 'standard' : state.tier,
  };
}

/** A step is over and so many are open; `pausedUntilMs` is its source's wish, 0 without one. */
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

/** An unknown rest of a list is lost by the failure. */
export function withLoss(state: ExtractionState, failure: StepFailure): ExtractionState {
  if (state.hasLost) return state;
  return withNotes({ ...state, hasLost: true, firstFailure: plain(failure) }, ['list_incomplete']);
}

function plain({ reason, retryable }: StepFailure): Failure {
  return { reason, retryable };
}
