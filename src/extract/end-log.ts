import type { FailureEntry } from '../core/extraction.ts';
import type { ExtractionState } from '../core/extraction-state.ts';
import type { StoredJob } from '../store/extractions.ts';

/** Choice: what is stored of an entry's detail. */
const DETAIL_CHARACTERS_MAX = 400;

/** The log's line for a job that ended. `entries`: what went wrong in it, in order of time; of many the first and the last. */
export function endFields({ job, state }: StoredJob, entries: readonly FailureEntry[]): Record<string, unknown> {
  const entry = decidingEntry(state, entries);
  return {
    id: job.id,
    customer: job.customer,
    request_id: job.requestId,
    connector: job.connector,
    operation: job.operation,
    status: state.status,
    reason: state.failure?.reason ?? null,
    detail: entry === null ? null : lineOf(entry.detail),
    records: state.collected,
    pages: state.pages,
    errors: state.errors,
    credits: state.credits,
    duration_ms: state.startedAtMs === null ? 0 : (state.finishedAtMs ?? 0) - state.startedAtMs,
  };
}

/** A crawl that found nothing fails with the first failure of its pages, any other job with what ended it, which came last. */
function decidingEntry(state: ExtractionState, entries: readonly FailureEntry[]): FailureEntry | null {
  const reason = state.failure?.reason;
  const isOfReason = (entry: FailureEntry): boolean => entry.reason === reason;
  const isByFirst = state.isWide && state.collected === 0;
  return (isByFirst ? entries.find(isOfReason) : entries.findLast(isOfReason)) ?? null;
}

/**
 * One line of bounded length. Choice: addresses without user and query, where tokens stand, because a log goes further than the
 * store: the whole detail is under the request id. Of what else a detail holds, no part is a secret: sessions and keys never get into
 * one.
 */
function lineOf(detail: string): string {
  const line = detail
    .slice(0, DETAIL_CHARACTERS_MAX)
    .replaceAll(/(\bhttps?:\/\/)[^\s/?#@]*@/gi, '$1')
    .replaceAll(/(\bhttps?:\/\/[^\s?#]*)[?#][^\s"']*/gi, '$1?…')
    .replaceAll(/[\s\p{C}]+/gu, ' ');
  return line.trim();
}
