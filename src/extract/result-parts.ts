import type { FailureEntry } from '../core/extraction.ts';
import type { ExtractResult } from '../pools/extract-messages.ts';
import type { JobFacts, StepOutcome } from '../store/extractions/apply.ts';
import type { FoundRange } from '../store/extractions/keys.ts';
import type { Result } from '../store/extractions.ts';

/** Measured: a part of so many rows holds the main thread for some 2 ms. */
const PART_ROWS_MAX = 250;
/** Choice: a chunk of records is never larger, so that what reads them holds no more. */
const PART_BYTES_MAX = 262_144;
/** Choice: notes of a step that did not fail. */
const ENTRIES_MAX = 4;

/** What a step found, in parts of a bounded size. The records come first, and the last part ends the step. */
export function partsOf(
  job: JobFacts,
  step: { readonly step: number; readonly key: string },
  result: ExtractResult,
  context: { readonly sealing: Uint8Array; readonly nowMs: number },
): readonly Result[] {
  const outcome = outcomeOf(step.key, result, context.nowMs);
  const bare = { job, step: step.step, outcome, isLast: false, session: null, records: null, next: null };
  const parts: Result[] = rangesOf(result.lineBytes).map((range) => ({ ...bare, records: { found: result, range } }));
  for (const range of rangesOf(result.next.rowBytes)) parts.push({ ...bare, next: { found: result.next, range } });
  const session =
    result.sessionJson === null ? null : { sealing: context.sealing, content: Buffer.from(result.sessionJson) };
  // A small result is one part: its records and what is to be read next.
  const [first, second] = parts;
  const isSmall = parts.length === 2 && result.lineBytes.length + result.next.rowBytes.length <= PART_ROWS_MAX;
  if (isSmall && first !== undefined && second !== undefined && first.next === null)
    return [{ ...first, next: second.next, isLast: true, session }];
  const last = parts.pop() ?? bare;
  return [...parts, { ...last, isLast: true, session }];
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
  const { pages, credits, tier, errors, total, pauseMs, failure, notes } = result;
  const told = [...notes.slice(0, ENTRIES_MAX), ...(failure === null ? [] : [failure])];
  return {
    pages,
    credits,
    tier,
    errors,
    total,
    pausedUntilMs: pauseMs > 0 ? nowMs + pauseMs : 0,
    failure: failure === null ? null : { reason: failure.reason, retryable: failure.retryable },
    entries: told.map(({ reason, detail }): FailureEntry => ({ atMs: nowMs, reason, step: key, detail })),
  };
}
