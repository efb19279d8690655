import type { FailureEntry, JobNote } from '../../../work/extraction-job.ts';
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
} from '../../../work/extraction-state.ts';
import type { ExtractionRecords, FoundRecords } from './record-table.ts';
import type { ExtractionSteps, FoundSteps } from './step-table.ts';
import type { Job } from './job-row.ts';
import type { FoundRange } from './row-keys.ts';

/** The fields of a job that applying its results needs. */
export type JobFacts = Pick<
  Job,
  'number' | 'id' | 'customer' | 'requestId' | 'connector' | 'operation' | 'collect' | 'delivery' | 'session'
>;

/**
 * Part of a step's result. Large results are written in several parts, each in its own transaction, so that none blocks the main thread for
 * long. Between two parts the step stays open: if the process ends there, the step is repeated, and rows that exist already are recognised
 * by their keys.
 */
export interface StepPart {
  readonly job: JobFacts;
  readonly step: number;
  readonly records: { readonly found: FoundRecords; readonly range: FoundRange } | null;
  readonly next: { readonly found: FoundSteps; readonly range: FoundRange } | null;
  /** Whether this part completes the step. */
  readonly isLast: boolean;
  /** The step stays open and is repeated later; only its entries and the session are written. */
  readonly isPostponed?: boolean;
  /** Outcome of the whole step, the same in each part. */
  readonly outcome: StepOutcome;
}

export interface StepOutcome {
  readonly pages: number;
  readonly credits: number;
  readonly tier: 'basic' | 'standard' | null;
  readonly errors: number;
  /** Total number of records that the source reports. */
  readonly total: number | null;
  /** Unix ms; 0 if the source requests no pause. */
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
  /** Disk space that the job's steps may still take. */
  readonly stepRoom: number;
}

export interface PartApplied {
  /** The job's new state. */
  readonly state: ExtractionState;
  /** Entries for the operator. */
  readonly entries: readonly FailureEntry[];
}

const LIMIT_REACHED: Failure = { reason: 'limit_reached', retryable: false };

/**
 * Must be called inside a write transaction. Writes a part's records and steps. Returns null, without writing, if the job has ended or the
 * step was done before.
 */
export function applyPart(
  { steps, records, bounds, keepMs, stepRoom }: ApplyParts,
  state: ExtractionState,
  part: StepPart,
  nowMs: number,
): PartApplied | null {
  const { job, outcome } = part;
  const ownBytes = hasEnded(state) ? null : steps.bytesOf(job.number, part.step);
  if (ownBytes === null) return null;
  const max = recordsMaxOf(job, bounds);
  const kept = keepRecords(records, state, part, max);
  let next = kept.state;
  const isFull = job.collect.mode === 'limit' && next.collected >= max;
  let limit = isFull ? null : limitOf(next, kept.isOver, job, max, bounds);
  // The verdict on the job: undefined while it runs, null for success.
  let verdict = isFull ? null : limit === null ? undefined : LIMIT_REACHED;
  if (!isFull) {
    const added = addSteps(steps, next, part, stepRoom);
    next = added.state;
    if (added.isCut) {
      limit ??= `there was no room for more waiting pages: they take ${counted(next.stepBytes)} bytes`;
      verdict ??= verdictOfFailure(next, STEPS_LOST, job.collect) ?? undefined;
    }
  }
  if (part.isLast || verdict !== undefined) next = withNotes(withUsage(next, outcome), outcome.notes);
  if (part.isLast) {
    steps.remove(job.number, part.step);
    // A job of an older build has steps that were not counted.
    next = { ...next, stepBytes: Math.max(0, next.stepBytes - ownBytes) };
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
  // Source: contract, 11.5: nothing is charged for what the caller does not get.
  const isRefused = verdict?.reason === 'limit_reached' && job.delivery.kind === 'sync';
  return { state: ended(isRefused ? { ...next, credits: 0 } : next, verdict, nowMs, keepMs), entries };
}

/** Returns which limit the job reached, as a text for the operator; null for none. */
function limitOf(
  { recordBytes, announced }: ExtractionState,
  isOver: boolean,
  job: JobFacts,
  recordsMax: number,
  { recordBytesMax }: CollectBounds,
): string | null {
  if (isOver) return `record ${counted(recordsMax + 1)} exceeds the limit`;
  if (recordBytes > recordBytesMax) return `its records have more than ${counted(recordBytesMax)} bytes`;
  if ((announced ?? 0) <= announcedMax(job, recordsMax)) return null;
  return `the source announces ${counted(announced ?? 0)} records; this job may have ${counted(recordsMax)}`;
}

function counted(number: number): string {
  return number.toLocaleString('en-US');
}

/** An announced total above this ends the job, because the caller cannot get all records. */
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
  stepRoom: number,
): { readonly state: ExtractionState; readonly isCut: boolean } {
  if (next === null) return { state, isCut: false };
  const { nextStep, openSteps, stepBytes } = state;
  const { added, bytes, isCut } = steps.add(job.number, next.found, next.range, nextStep, stepRoom);
  const all = {
    ...state,
    nextStep: nextStep + added,
    openSteps: openSteps + added,
    stepBytes: stepBytes + bytes,
  };
  return { state: isCut ? withLoss(all, STEPS_LOST) : all, isCut };
}
