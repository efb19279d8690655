import type { FailureReason } from '../core/extraction.ts';
import type { ExtractFailure, ExtractNext, ExtractResult } from '../pools/extract-messages.ts';
import { SourceFailure, type JsonObject, type Operation, type Step, type StepResult } from './connector.ts';
import type { FetchParts } from './fetch/parts.ts';
import type { JobSession } from './fetch/session.ts';
import { createSource, type CountedSource } from './fetch/source.ts';
import type { KnownSteps } from './known-steps.ts';
import { hashesOf, packSteps } from './pack-steps.ts';
import { META } from './shape/record-meta.ts';
import type { Shaper } from './shape/shaper.ts';

/** A job as its steps need it. */
export interface RunnableJob {
  readonly operation: Operation;
  readonly shaper: Shaper;
  readonly session: JobSession | null;
  /** Another base address of the connector; null: its own. */
  readonly base: string | null;
  readonly known: Pick<KnownSteps, 'unknown'>;
}

/** Choice: the longest article; what is longer is no record but a file. */
const RECORD_BYTES_MAX = 1_048_576;
/** Choice: of all records of a step, in memory at once. */
const STEP_BYTES_MAX = 32 * 1_048_576;
/** Source: the sitemaps protocol's 50,000 links of a file, and room for those of an index. */
const NEXT_STEPS_MAX = 100_000;
/** Choice: four times what a step may weigh. */
const STEP_ROW_BYTES_MAX = 16_384;
/** Choice: a wish over it is none. */
const PAUSE_MS_MAX = 3_600_000;
/** Choice: of one step; the operator is told of a few in any case. */
const NOTES_MAX = 4;

type Result = Omit<ExtractResult, 'kind' | 'lease'>;
type Note = Pick<ExtractFailure, 'reason' | 'detail'>;

/** What a step came to. */
export interface StepDone {
  readonly result: Result;
  /** Of the steps that the result holds. */
  readonly keys: readonly string[];
}

/** Does one step, and never rejects: what goes wrong is in the result. */
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

/** A step that could not even be begun, or was given up. */
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
  const lines = shapeAll(job.shaper, found, recordsLeft, nowMs);
  if (lines.kind === 'failed') return { result: { ...failed(source, lines.failure), ...lines.enough }, keys: [] };
  const leftOut = leftOutOf(found);
  const steps = job.known.unknown(found.next.slice(0, NEXT_STEPS_MAX));
  const next = encodeNext(steps);
  if (next.kind === 'failed') return { result: failed(source, next.failure), keys: [] };
  const usage = source.usage();
  const result: Result = {
    ...lines.encoded,
    ...usage,
    next: next.next,
    total: found.total,
    pauseMs: Math.min(PAUSE_MS_MAX, (found.pauseSeconds ?? 0) * 1_000),
    // Choice: a record that its schema refuses is an error of the job, as nothing else tells of it.
    errors: usage.errors + lines.dropped,
    failure: leftOut === null ? null : { reason: 'limit_reached', retryable: false, detail: leftOut, losesRest: true },
    notes: lines.notes,
    sessionJson: changesJson(source),
  };
  return { result, keys: steps.map(({ key }) => key) };
}

/** For the operator; null where nothing was left out. */
function leftOutOf({ next, leftOut }: StepResult): string | null {
  const steps = next.length - NEXT_STEPS_MAX;
  if (leftOut === undefined && steps <= 0) return null;
  return `there was no room for ${leftOut ?? `${steps} of the pages that one step found`}`;
}

/** Only what this step changed: other steps have the session at the same time, and what they changed must stay. */
function changesJson(source: CountedSource): string | null {
  const changes = source.takeCookies();
  return changes === null ? null : JSON.stringify(changes);
}

type Lines =
  | {
      readonly kind: 'lines';
      readonly encoded: Encoded;
      readonly dropped: number;
      readonly notes: readonly Note[];
    }
  /** `enough`: what came before and is all that the job wants, so that it may succeed all the same; null where it is less. */
  | { readonly kind: 'failed'; readonly failure: ExtractFailure; readonly enough: Encoded | null };

type Encoded = Pick<Result, 'ndjson' | 'lineBytes' | 'hashes'>;

function shapeAll(
  shaper: Shaper,
  found: Pick<StepResult, 'records' | 'notes'>,
  recordsLeft: number,
  nowMs: number,
): Lines {
  const fetchedAt = new Date(nowMs).toISOString();
  const ids: string[] = [];
  const lines: string[] = [];
  const notes: Note[] = (found.notes ?? []).slice(0, NOTES_MAX);
  let dropped = 0;
  const drop = (reason: FailureReason, detail: string): void => {
    dropped++;
    if (notes.length < NOTES_MAX) notes.push({ reason, detail });
  };
  const fault = (reason: FailureReason, detail: string): Lines => {
    const enough = new Set(ids).size >= recordsLeft ? encodeLines(lines, ids) : null;
    return { kind: 'failed', failure: { reason, retryable: false, detail }, enough };
  };
  let characters = 0;
  for (const { id, sourceUrl, fields } of found.records) {
    const meta = { id, source_url: sourceUrl, fetched_at: fetchedAt };
    const shaped = shaper.shape({ ...fields, [META]: meta });
    if (shaped.kind === 'failed')
      return fault('schema_mismatch', `${sourceUrl}, record ${id.slice(0, 100)}: ${shaped.detail}`);
    if (shaped.kind === 'dropped') {
      drop('schema_mismatch', `${sourceUrl}, record ${id.slice(0, 100)}: ${shaped.detail}`);
      continue;
    }
    const line = `${JSON.stringify(shaped.value)}\n`;
    if (line.length > RECORD_BYTES_MAX) {
      drop('unsupported_content', `${sourceUrl}: a record of ${line.length} characters`);
      continue;
    }
    characters += line.length;
    if (characters > STEP_BYTES_MAX) return fault('unsupported_content', `${sourceUrl}: too much for one step`);
    ids.push(id);
    lines.push(line);
  }
  return { kind: 'lines', encoded: encodeLines(lines, ids), dropped, notes };
}

function encodeLines(lines: readonly string[], ids: readonly string[]): Encoded {
  const lineBytes = Uint32Array.from(lines, (line) => Buffer.byteLength(line));
  // Memory of its own: a slice of Node's shared pool would cross to the other thread with the whole pool.
  const ndjson = Buffer.allocUnsafeSlow(lineBytes.reduce((sum, bytes) => sum + bytes, 0));
  let at = 0;
  for (const line of lines) at += ndjson.write(line, at);
  return { ndjson, lineBytes, hashes: hashesOf(ids) };
}

type Next =
  | { readonly kind: 'next'; readonly next: ExtractNext }
  | Pick<Extract<Lines, { kind: 'failed' }>, 'kind' | 'failure'>;

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
