import type { ExtractFailure, ExtractNext, ExtractResult } from '../base/extract-messages.ts';
import { SourceFailure, type JsonObject, type Operation, type Step, type StepResult } from '../base/connector.ts';
import type { FetchParts } from '../fetch/fetch-parts.ts';
import type { JobSession } from '../fetch/fetch-session.ts';
import { createSource, type CountedSource } from '../fetch/guarded-source.ts';
import type { KnownSteps } from './step-deduplication.ts';
import { packSteps } from '../base/pack-steps.ts';
import { toRecordLines } from './record-lines.ts';
import type { Shaper } from '../shape/shaper.ts';

/** What a job's steps need to know of it. */
export interface RunnableJob {
  readonly operation: Operation;
  readonly shaper: Shaper;
  readonly session: JobSession | null;
  /** Base address that replaces the connector's own; null for its own. */
  readonly base: string | null;
  readonly known: Pick<KnownSteps, 'unknown' | 'lacks'>;
}

/** Source: the sitemaps protocol's 50,000 links of a file, and room for those of an index. */
const NEXT_STEPS_MAX = 100_000;
/** Choice: four times the permitted size of a step. */
const STEP_ROW_BYTES_MAX = 16_384;
/** Choice: longer pauses are shortened to this. */
const PAUSE_MS_MAX = 3_600_000;
/** Choice: for one step. The operator sees only a few in any case. */
const NOTES_MAX = 4;

type Result = Omit<ExtractResult, 'kind' | 'lease'>;

/** The outcome of a step. */
export interface StepDone {
  readonly result: Result;
  /** Keys of the steps in the result. */
  readonly keys: readonly string[];
}

/** Runs one step. Never rejects: failures are part of the result. */
export async function runStep(
  job: RunnableJob,
  fetch: FetchParts,
  step: { readonly stateJson: string; readonly recordsLeft: number },
): Promise<StepDone> {
  const source = createSource({ ...fetch, session: job.session, base: job.base });
  try {
    const state = JSON.parse(step.stateJson) as JsonObject;
    const recordsLeft = job.shaper.mayDrop ? Infinity : step.recordsLeft;
    const found = await job.operation.run(state, source, { recordsLeft });
    return encode(job, source, found, step.recordsLeft, fetch.clock.nowMs());
  } catch (error) {
    return { result: failed(source, failureOf(error)), keys: [] };
  }
}

/** Returns the result of a step that could not start, or was aborted. */
export function failedResult(failure: ExtractFailure): Result {
  return { ...EMPTY, ...NO_USAGE, errors: 1, failure };
}

const NO_NEXT: ExtractNext = packSteps([]);
const NO_USAGE = { pages: 0, credits: 0, tier: null, errors: 0, bytes: 0 } as const;
const EMPTY = {
  ndjson: new Uint8Array(0),
  lineBytes: new Uint32Array(0),
  hashes: new Uint8Array(0),
  next: NO_NEXT,
  total: null,
  pauseMs: 0,
  notes: [],
  jobNotes: [],
  sessionJson: null,
} as const satisfies Partial<Result>;

function failed(source: CountedSource, failure: ExtractFailure): Result {
  const usage = source.usage();
  return { ...EMPTY, ...usage, errors: Math.max(1, usage.errors), failure, sessionJson: changesJson(source) };
}

function failureOf(error: unknown): ExtractFailure {
  if (error instanceof SourceFailure) {
    const { reason, retryable, message: detail, waitMs } = error;
    return { reason, retryable, detail, ...(waitMs !== null && { waitMs }) };
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { reason: 'internal_error', retryable: false, detail };
}

function encode(
  job: RunnableJob,
  source: CountedSource,
  found: StepResult,
  recordsLeft: number,
  nowMs: number,
): StepDone {
  const lines = toRecordLines(job.shaper, found.records, { recordsLeft, nowMs });
  if (lines.kind === 'failed') return { result: { ...failed(source, lines.failure), ...lines.enough }, keys: [] };
  const steps = job.known.unknown(found.next.slice(0, NEXT_STEPS_MAX));
  const next = encodeNext(steps);
  if (next.kind === 'failed') return { result: failed(source, next.failure), keys: [] };
  const usage = source.usage();
  const { unreadable = [], brokenOff, failed: own, tooDeep = [] } = found;
  const result: Result = {
    ...lines.encoded,
    ...usage,
    next: next.next,
    total: found.total,
    pauseMs: Math.min(PAUSE_MS_MAX, (found.pauseSeconds ?? 0) * 1_000),
    // Choice: a record that its schema rejects and a list that cannot be parsed count as errors of the job.
    errors:
      Math.max(own === undefined ? 0 : 1, usage.errors) +
      lines.dropped +
      unreadable.filter(({ isFetched }) => isFetched).length +
      (brokenOff ? 1 : 0),
    failure: lossOf(found),
    notes: [...(own === undefined ? [] : [own]), ...unreadable, ...lines.notes, ...(found.notes ?? [])]
      .slice(0, NOTES_MAX)
      .map(({ reason, detail }) => ({ reason, detail })),
    jobNotes: [
      ...lines.jobNotes,
      ...(unreadable.length > 0 ? (['list_incomplete'] as const) : []),
      ...(job.known.lacks(tooDeep) ? (['depth_limit_reached'] as const) : []),
    ],
    sessionJson: changesJson(source),
  };
  return { result, keys: steps.map(({ key }) => key) };
}

/** Returns what a successful step lost: the rest of a truncated list, or what exceeded our limits; null if nothing was lost. */
function lossOf({ next, leftOut, brokenOff }: StepResult): ExtractFailure | null {
  if (brokenOff !== undefined) return { ...brokenOff, retryable: false, losesRest: true };
  const steps = next.length - NEXT_STEPS_MAX;
  if (leftOut === undefined && steps <= 0) return null;
  const detail = `there was no room for ${leftOut ?? `${steps} of the pages that one step found`}`;
  return { reason: 'limit_reached', retryable: false, detail, losesRest: true };
}

/**
 * Returns only the cookies that this step changed. Other steps use the session at the same time, and their changes must not be overwritten.
 */
function changesJson(source: CountedSource): string | null {
  const changes = source.takeCookies();
  return changes === null ? null : JSON.stringify(changes);
}

type Next =
  | { readonly kind: 'next'; readonly next: ExtractNext }
  | { readonly kind: 'failed'; readonly failure: ExtractFailure };

function encodeNext(steps: readonly Step[]): Next {
  if (steps.length === 0) return { kind: 'next', next: NO_NEXT };
  const next = packSteps(steps);
  const large = next.rowBytes.findIndex((bytes) => bytes > STEP_ROW_BYTES_MAX);
  if (large >= 0) {
    const detail = `the state of step ${steps[large]?.key.slice(0, 100)} is too large`;
    return { kind: 'failed', failure: { reason: 'internal_error', retryable: false, detail } };
  }
  return { kind: 'next', next };
}
