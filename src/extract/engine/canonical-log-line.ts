import type { FailureEntry } from '../../work/extraction-job.ts';
import type { ExtractionState } from '../../work/extraction-state.ts';
import type { StoredJob } from '../../state/tables/extractions/job-rows.ts';

/** The part of the log that extraction writes. */
export type JobLogLine = Record<'info' | 'warn' | 'error', (fields: object, message: string) => void>;

/** Choice: maximum number of characters of an entry's detail that are logged. */
const DETAIL_CHARACTERS_MAX = 400;

/**
 * Returns the canonical log line of an ended job. `entries`: the job's failures in order of time; of many, only the first and the last
 * ones.
 */
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

/**
 * Returns the entry that explains the failure. For a crawl that found nothing, that is the first failure of its pages. For any other job,
 * it is the last matching entry, which ended the job.
 */
export function decidingEntry(state: ExtractionState, entries: readonly FailureEntry[]): FailureEntry | null {
  const reason = state.failure?.reason;
  const isOfReason = (entry: FailureEntry): boolean => entry.reason === reason;
  const isByFirst = state.isWide && state.collected === 0;
  return (isByFirst ? entries.find(isOfReason) : entries.findLast(isOfReason)) ?? null;
}

/**
 * Returns one line of limited length. Choice: removes user info and query from URLs, because they may contain tokens and a log reaches more
 * places than the store. The complete detail is stored under the request id. The rest of a detail never contains secrets: sessions and keys
 * never get into it.
 */
function lineOf(detail: string): string {
  const line = detail
    .slice(0, DETAIL_CHARACTERS_MAX)
    .replaceAll(/(\bhttps?:\/\/)[^\s/?#@]*@/gi, '$1')
    .replaceAll(/(\bhttps?:\/\/[^\s?#]*)[?#][^\s"']*/gi, '$1?…')
    .replaceAll(/[\s\p{C}]+/gu, ' ');
  return line.trim();
}
