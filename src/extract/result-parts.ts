import type { FailureEntry } from '../core/extraction.ts';
import type { StepFailure } from '../core/extraction-state.ts';
import type { ExtractFailure, ExtractResult } from '../pools/extract-messages.ts';
import type { JobFacts, StepOutcome } from '../store/extractions/apply.ts';
import type { FoundRange } from '../store/extractions/keys.ts';
import type { Result } from '../store/extractions.ts';
import { withCookieChanges } from './fetch/session-cookies.ts';
import type { Lease } from './job-run.ts';

/** Measured: a part of so many rows holds the main thread for some 2 ms. */
const PART_ROWS_MAX = 250;
/** Choice: a chunk of records is never larger, so that what reads them holds no more. */
const PART_BYTES_MAX = 262_144;
/** Choice: notes of a step that did not fail. */
const ENTRIES_MAX = 4;

/** With the lease under which it came; null where no worker sent it. */
export interface SentResult extends Result {
  readonly lease: Lease | null;
  /** When the step is to be done again, Unix ms; only where it is postponed. */
  readonly againAtMs?: number;
}

/** Of a step whose source asks to be left alone until then: what it changed of its session, and what the operator is told. */
export function postponedPart(
  { run, step }: Lease,
  result: ExtractResult,
  context: { readonly sealing: Uint8Array; readonly nowMs: number; readonly lease: Lease; readonly againAtMs: number },
): SentResult {
  const { lease, againAtMs } = context;
  const outcome = outcomeOf(step.key, result, context.nowMs);
  const bare = { job: run.job, step: step.step, outcome, records: null, next: null };
  return { ...bare, isLast: false, isPostponed: true, session: sessionOf(result, context), lease, againAtMs };
}

/** What a step found, in parts of a bounded size. The records come first, and the last part ends the step. */
export function partsOf(
  job: JobFacts,
  step: { readonly step: number; readonly key: string },
  result: ExtractResult,
  context: { readonly sealing: Uint8Array; readonly nowMs: number; readonly lease: Lease | null },
): readonly SentResult[] {
  const outcome = outcomeOf(step.key, result, context.nowMs);
  const { lease } = context;
  const bare = { job, step: step.step, outcome, isLast: false, session: null, records: null, next: null, lease };
  const parts: SentResult[] = rangesOf(result.lineBytes).map((range) => ({
    ...bare,
    records: { found: result, range },
  }));
  for (const range of rangesOf(result.next.rowBytes)) parts.push({ ...bare, next: { found: result.next, range } });
  const session = sessionOf(result, context);
  // A small result is one part: its records and what is to be read next.
  const [first, second] = parts;
  const isSmall = parts.length === 2 && result.lineBytes.length + result.next.rowBytes.length <= PART_ROWS_MAX;
  if (isSmall && first !== undefined && second?.records === null && first.next === null)
    return [{ ...first, next: second.next, isLast: true, session }];
  const last = parts.pop() ?? bare;
  const all = [...parts, { ...last, isLast: true }];
  // With the first of them: a job that is full before the last takes no more.
  return all.map((part, i) => (i === 0 ? { ...part, session } : part));
}

function sessionOf(
  { sessionJson: changes }: ExtractResult,
  { sealing, nowMs }: { readonly sealing: Uint8Array; readonly nowMs: number },
): Result['session'] {
  if (changes === null) return null;
  return {
    sealing,
    change(content) {
      const changed = withCookieChanges(content.toString('utf8'), changes, nowMs);
      return changed === null ? null : Buffer.from(changed);
    },
  };
}

/** Rows that a part may write, at least one. */
export function rowsOf({ records, next }: Result): number {
  return 1 + lengthOf(next?.range) + lengthOf(records?.range);
}

function lengthOf(range: FoundRange | undefined): number {
  return range === undefined ? 0 : range.to - range.from;
}

function rangesOf(bytesOfEach: Uint32Array): readonly FoundRange[] {
  const ranges: FoundRange[] = [];
  let from = 0;
  let at = 0;
  let bytes = 0;
  for (const [i, own] of bytesOfEach.entries()) {
    if (i > from && (i - from >= PART_ROWS_MAX || bytes + own > PART_BYTES_MAX)) {
      ranges.push({ from, to: i, at });
      from = i;
      at += bytes;
      bytes = 0;
    }
    bytes += own;
  }
  if (bytesOfEach.length > from) ranges.push({ from, to: bytesOfEach.length, at });
  return ranges;
}

function outcomeOf(key: string, result: ExtractResult, nowMs: number): StepOutcome {
  const { pages, credits, tier, errors, total, pauseMs, failure, notes, jobNotes } = result;
  const told = [...notes.slice(0, ENTRIES_MAX), ...(failure === null ? [] : [failure])];
  return {
    pages,
    credits,
    tier,
    errors,
    total,
    pausedUntilMs: pauseMs > 0 ? nowMs + pauseMs : 0,
    failure: failure === null ? null : stepFailure(failure),
    entries: told.map(({ reason, detail }): FailureEntry => ({ atMs: nowMs, reason, step: key, detail })),
    notes: jobNotes,
  };
}

function stepFailure({ reason, retryable, losesRest = false }: ExtractFailure): StepFailure {
  return { reason, retryable, ...(losesRest && { losesRest }) };
}
