import type { FailureEntry, JobNote } from '../../core/extraction.ts';
import {
  type CollectBounds,
  ended,
  type ExtractionState,
  type Failure,
  hasEnded,
  pagesMaxOf,
  recordsMaxOf,
  verdictOfEnd,
  verdictOfFailure,
  verdictOfPages,
  stepDone,
  type StepFailure,
  withLoss,
  withNotes,
  withUsage,
} from '../../core/extraction-state.ts';
import type { ExtractionRecords, FoundRecords } from '../extraction-records.ts';
import type { ExtractionSteps, FoundSteps } from '../extraction-steps.ts';
import type { Job } from './job-row.ts';
import type { FoundRange } from './keys.ts';

/** What of a job its results are written by. */
export type JobFacts = Pick<
  Job,
  'number' | 'id' | 'customer' | 'requestId' | 'connector' | 'operation' | 'collect' | 'delivery' | 'session'
>;

/**
 * A part of what came of a step. Large results are written in several parts, each in a transaction of its own, so that none holds the
 * main thread for long. Between two parts the step is still open: a process that ends there does it again, and what is there already is
 * known by its key.
 */
export interface StepPart {
  readonly job: JobFacts;
  readonly step: number;
  readonly records: { readonly found: FoundRecords; readonly range: FoundRange } | null;
  readonly next: { readonly found: FoundSteps; readonly range: FoundRange } | null;
  /** With it the step is done. */
  readonly isLast: boolean;
  /** The step stays open and is done again later; of what it came to only the entries and the session are written. */
  readonly isPostponed?: boolean;
  /** Of the whole step, the same in each part. */
  readonly outcome: StepOutcome;
}

export interface StepOutcome {
  readonly pages: number;
  readonly credits: number;
  readonly tier: 'basic' | 'standard' | null;
  readonly errors: number;
  /** What the source says it has in all. */
  readonly total: number | null;
  /** Unix ms; 0 where the source asks for no pause. */
  readonly pausedUntilMs: number;
  readonly failure: StepFailure | null;
  readonly entries: readonly FailureEntry[];
  /** Notes for the job. */
  readonly notes: readonly JobNote[];
}

export interface ApplyParts {
  readonly steps: ExtractionSteps;
  readonly records: ExtractionRecords;
  readonly bounds: CollectBounds;
  readonly keepMs: number;
  /** Of a job, done ones included. */
  readonly stepsMax: number;
}

export interface PartApplied {
  /** That the job has then. */
  readonly state: ExtractionState;
  /** What the operator is to be told. */
  readonly entries: readonly FailureEntry[];
}

const LIMIT_REACHED: Failure = { reason: 'limit_reached', retryable: false };

/**
 * Only inside a write transaction: writes a part's records and steps. Null where the job has ended or the step was done before, and
 * nothing was written.
 */
export function applyPart(
  { steps, records, bounds, keepMs, stepsMax }: ApplyParts,
  state: ExtractionState,
  part: StepPart,
  nowMs: number,
): PartApplied | null {
  const { job, outcome } = part;
  if (hasEnded(state) || !steps.has(job.number, part.step)) return null;
  const max = recordsMaxOf(job, bounds);
  const kept = keepRecords(records, state, part, max);
  let next = kept.state;
  const isFull = job.collect.mode === 'limit' && next.collected >= max;
  let limit = isFull ? null : limitOf(next, kept.isOver, job, max, bounds);
  // The verdict on the job: undefined while it goes on, null for success.
  let verdict = isFull ? null : limit === null ? undefined : LIMIT_REACHED;
  if (!isFull) {
    const added = addSteps(steps, next, part, stepsMax);
    next = added.state;
    if (added.isCut) {
      limit ??= `there was no room for more than ${counted(stepsMax)} pages`;
      verdict ??= verdictOfFailure(next, STEPS_LOST, job.collect) ?? undefined;
    }
  }
  if (part.isLast || verdict !== undefined) next = withNotes(withUsage(next, outcome), outcome.notes);
  if (part.isLast) {
    steps.remove(job.number, part.step);
    next = stepDone(next, next.openSteps - 1, outcome.failure, outcome.pausedUntilMs);
    if (verdict === undefined && outcome.failure !== null)
      verdict = verdictOfFailure(next, outcome.failure, job.collect) ?? undefined;
    if (verdict === undefined && next.openSteps === 0) verdict = verdictOfEnd(next, job.collect);
    if (verdict === undefined && next.pages >= pagesMaxOf(job.collect)) {
      limit = `${counted(next.pages)} pages yielded ${counted(next.collected)} records; the job may read no more pages`;
      verdict = verdictOfPages(next);
      next = withNotes(next, ['page_limit_reached']);
    }
  }
  const told = part.isLast || part.isPostponed === true ? outcome.entries : [];
  const entries =
    limit === null ? told : [...told, { atMs: nowMs, reason: LIMIT_REACHED.reason, step: '', detail: limit }];
  if (verdict === undefined) return { state: next, entries };
  // Source: open points, section 5, "Sync": nothing is charged for what the caller does not get.
  const isRefused = verdict?.reason === 'limit_reached' && job.delivery.kind === 'sync';
  return { state: ended(isRefused ? { ...next, credits: 0 } : next, verdict, nowMs, keepMs), entries };
}

/** Which bound the job met, for the operator; null for none. */
function limitOf(
  { recordBytes, announced }: ExtractionState,
  isOver: boolean,
  job: JobFacts,
  recordsMax: number,
  { recordBytesMax }: CollectBounds,
): string | null {
  if (isOver) return `record ${counted(recordsMax + 1)} came`;
  if (recordBytes > recordBytesMax) return `its records have more than ${counted(recordBytesMax)} bytes`;
  if ((announced ?? 0) <= announcedMax(job, recordsMax)) return null;
  return `the source announces ${counted(announced ?? 0)} records; this job may have ${counted(recordsMax)}`;
}

function counted(number: number): string {
  return number.toLocaleString('en-US');
}

/** An announced total over this ends the job: it is known by then that the caller cannot have it all. */
function announcedMax({ collect, delivery }: JobFacts, recordsMax: number): number {
  return collect.mode === 'all' && delivery.kind === 'sync' ? recordsMax : Infinity;
}

function keepRecords(
  records: ExtractionRecords,
  state: ExtractionState,
  { job, records: found, outcome }: StepPart,
  max: number,
): { readonly state: ExtractionState; readonly isOver: boolean } {
  const announced = outcome.total === null ? state.announced : Math.max(state.announced ?? 0, outcome.total);
  if (found === null) return { state: { ...state, announced }, isOver: false };
  const place = { firstSeq: state.collected, max: max - state.collected };
  const kept = records.keep(job.number, found.found, found.range, place);
  return {
    isOver: kept.isOver,
    state: {
      ...state,
      announced,
      collected: state.collected + kept.records,
      duplicates: state.duplicates + kept.duplicates,
      recordBytes: state.recordBytes + kept.bytes,
    },
  };
}

const STEPS_LOST: StepFailure = { ...LIMIT_REACHED, losesRest: true };

function addSteps(
  steps: ExtractionSteps,
  state: ExtractionState,
  { job, next }: StepPart,
  stepsMax: number,
): { readonly state: ExtractionState; readonly isCut: boolean } {
  if (next === null) return { state, isCut: false };
  const { nextStep, openSteps } = state;
  const { added, isCut } = steps.add(job.number, next.found, next.range, nextStep, stepsMax);
  const all = { ...state, nextStep: nextStep + added, openSteps: openSteps + added };
  return { state: isCut ? withLoss(all, STEPS_LOST) : all, isCut };
}
