import type { FailureReason } from '../core/extraction.ts';
import type { ExtractFailure, ExtractNext, ExtractResult } from '../pools/extract-messages.ts';
import { SourceFailure, type FoundRecord, type JsonObject, type Operation, type StepResult } from './connector.ts';
import type { FetchParts } from './fetch/parts.ts';
import type { SourceSession } from './fetch/session.ts';
import { createSource, type CountedSource } from './fetch/source.ts';
import { hashesOf, packSteps } from './pack-steps.ts';
import { META } from './shape/record-meta.ts';
import type { Shaper } from './shape/shaper.ts';

/** A job as its steps need it. */
export interface RunnableJob {
  readonly operation: Operation;
  readonly shaper: Shaper;
  readonly session: SourceSession | null;
  /** Another base address of the connector; null: its own. */
  readonly base: string | null;
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

/** Does one step, and never rejects: what goes wrong is in the result. */
export async function runStep(
  job: RunnableJob,
  fetch: FetchParts,
  step: { readonly stateJson: string; readonly recordsLeft: number },
): Promise<Result> {
  const source = createSource({ ...fetch, session: job.session, base: job.base });
  try {
    const state = JSON.parse(step.stateJson) as JsonObject;
    const found = await job.operation.run(state, source, { recordsLeft: step.recordsLeft });
    return encode(job, source, found, fetch.clock.nowMs());
  } catch (error) {
    return failed(job, source, failureOf(error));
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

function failed(job: RunnableJob, source: CountedSource, failure: ExtractFailure): Result {
  const usage = source.usage();
  return { ...EMPTY, ...usage, errors: Math.max(1, usage.errors), failure, sessionJson: sessionAfter(job, source) };
}

function failureOf(error: unknown): ExtractFailure {
  if (error instanceof SourceFailure)
    return { reason: error.reason, retryable: error.retryable, detail: error.message };
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { reason: 'internal_error', retryable: false, detail };
}

function encode(job: RunnableJob, source: CountedSource, found: StepResult, nowMs: number): Result {
  const lines = shapeAll(job.shaper, found.records, nowMs);
  if (lines.kind === 'failed') return failed(job, source, lines.failure);
  const next = encodeNext(found);
  if (next.kind === 'failed') return failed(job, source, next.failure);
  const usage = source.usage();
  return {
    ...lines.encoded,
    ...usage,
    next: next.next,
    total: found.total,
    pauseMs: Math.min(PAUSE_MS_MAX, (found.pauseSeconds ?? 0) * 1_000),
    // Choice: a record that its schema refuses is an error of the job, as nothing else tells of it.
    errors: usage.errors + lines.dropped,
    failure: null,
    notes: lines.notes,
    sessionJson: sessionAfter(job, source),
  };
}

function sessionAfter({ session }: RunnableJob, source: CountedSource): string | null {
  const cookies = source.takeCookies();
  return session === null || cookies === null ? null : JSON.stringify({ ...session, cookies });
}

type Lines =
  | {
      readonly kind: 'lines';
      readonly encoded: Pick<Result, 'ndjson' | 'lineBytes' | 'hashes'>;
      readonly dropped: number;
      readonly notes: readonly Note[];
    }
  | { readonly kind: 'failed'; readonly failure: ExtractFailure };

function shapeAll(shaper: Shaper, records: readonly FoundRecord[], nowMs: number): Lines {
  const fetchedAt = new Date(nowMs).toISOString();
  const ids: string[] = [];
  const lines: string[] = [];
  const notes: Note[] = [];
  let dropped = 0;
  const drop = (reason: FailureReason, detail: string): void => {
    dropped++;
    if (notes.length < NOTES_MAX) notes.push({ reason, detail });
  };
  let characters = 0;
  for (const { id, sourceUrl, fields } of records) {
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

function encodeLines(
  lines: readonly string[],
  ids: readonly string[],
): Pick<Result, 'ndjson' | 'lineBytes' | 'hashes'> {
  const lineBytes = Uint32Array.from(lines, (line) => Buffer.byteLength(line));
  // Memory of its own: a slice of Node's shared pool would cross to the other thread with the whole pool.
  const ndjson = Buffer.allocUnsafeSlow(lineBytes.reduce((sum, bytes) => sum + bytes, 0));
  let at = 0;
  for (const line of lines) at += ndjson.write(line, at);
  return { ndjson, lineBytes, hashes: hashesOf(ids) };
}

type Next = { readonly kind: 'next'; readonly next: ExtractNext } | Extract<Lines, { kind: 'failed' }>;

function encodeNext({ next: found }: StepResult): Next {
  const next = packSteps(found.slice(0, NEXT_STEPS_MAX));
  const large = next.rowBytes.findIndex((bytes) => bytes > STEP_ROW_BYTES_MAX);
  if (large >= 0) return fault('internal_error', `the state of step ${found[large]?.key.slice(0, 100)} is too large`);
  return { kind: 'next', next };
}

function fault(reason: FailureReason, detail: string): Extract<Lines, { kind: 'failed' }> {
  return { kind: 'failed', failure: { reason, retryable: false, detail } };
}
