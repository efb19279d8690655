import type { FailureEntry } from '../../work/extraction-job.ts';
import type { StepFailure } from '../../work/extraction-state.ts';
import type { ExtractFailure, ExtractResult } from '../base/extract-messages.ts';
import type { JobFacts, StepOutcome } from '../../state/tables/extractions/apply-results.ts';
import type { FoundRange } from '../../state/tables/extractions/row-keys.ts';
import type { PartResult } from '../../state/tables/extraction-table.ts';
import type { ContentChange } from '../../state/tables/session-table.ts';
import { withCookieChanges } from '../fetch/session-cookies.ts';
import type { Lease } from './job-run.ts';

/** Measured: a part with this many rows blocks the extraction thread for about 2 ms. */
const PART_ROWS_MAX = 250;
/** Choice: maximum size of a chunk of records, so that its readers hold no more. */
const PART_BYTES_MAX = 262_144;
/** Choice: maximum number of notes of a step that succeeded. */
const ENTRIES_MAX = 4;

/** A result with the lease under which it arrived; null if no worker sent it. */
export interface SentResult extends PartResult {
  readonly lease: Lease | null;
  /** When the step is to run again, Unix ms. Set only if it is postponed. */
  readonly againAtMs?: number;
}

/**
 * Returns the part for a step whose source asks for a pause until `againAtMs`: its changes to the session, and the entries for the
 * operator.
 */
export function postponedPart(
  { run, step }: Lease,
  result: ExtractResult,
  context: {
    readonly encryptionKey: Uint8Array;
    readonly nowMs: number;
    readonly lease: Lease;
    readonly againAtMs: number;
  },
): SentResult {
  const { lease, againAtMs } = context;
  const outcome = outcomeOf(step.key, result, context.nowMs);
  const bare = { job: run.job, step: step.step, outcome, records: null, next: null };
  return { ...bare, isLast: false, isPostponed: true, session: sessionOf(result, context), lease, againAtMs };
}

/** Splits the result of a step into parts of limited size. Records come first, and the last part completes the step. */
export function partsOf(
  job: JobFacts,
  step: { readonly step: number; readonly key: string },
  result: ExtractResult,
  context: { readonly encryptionKey: Uint8Array; readonly nowMs: number; readonly lease: Lease | null },
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
  // A small result is a single part with its records and next steps.
  const [first, second] = parts;
  const isSmall = parts.length === 2 && result.lineBytes.length + result.next.rowBytes.length <= PART_ROWS_MAX;
  if (isSmall && first !== undefined && second?.records === null && first.next === null)
    return [{ ...first, next: second.next, isLast: true, session }];
  const last = parts.pop() ?? bare;
  const all = [...parts, { ...last, isLast: true }];
  // The session goes with the first part: a job that becomes full before the last part accepts no more.
  return all.map((part, i) => (i === 0 ? { ...part, session } : part));
}

function sessionOf(
  { sessionJson: changes }: ExtractResult,
  { encryptionKey, nowMs }: { readonly encryptionKey: Uint8Array; readonly nowMs: number },
): PartResult['session'] {
  if (changes === null) return null;
  return { encryptionKey, changesJson: changes, atMs: nowMs, change: sessionChange(changes, nowMs) };
}

/** Returns the change of a session's content that a step's changes to its cookies make. */
export function sessionChange(changesJson: string, atMs: number): ContentChange {
  return (content) => {
    const changed = withCookieChanges(content.toString('utf8'), changesJson, atMs);
    return changed === null ? null : Buffer.from(changed);
  };
}

/** Returns the maximum number of rows that a part writes, at least one. */
export function rowsOf({ records, next }: PartResult): number {
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
