import type { ExtractionStatus, FailureReason } from '../../../../contract/vocabulary.ts';
import type { ExtractionRow } from '../../../../contract/wire-types.ts';
import type { Tone } from '../../components/state-mark.tsx';
import { formatCount, formatSeconds, formatTime } from '../../format.ts';
import { cutText } from '../../visible-text.ts';

/** Extraction jobs in words. */

export const JOB_STATUS: Readonly<Record<ExtractionStatus, { readonly tone: Tone; readonly word: string }>> = {
  queued: { tone: 'idle', word: 'Queued' },
  running: { tone: 'idle', word: 'Running' },
  succeeded: { tone: 'good', word: 'Succeeded' },
  failed: { tone: 'bad', word: 'Failed' },
};

/** Source: contract, 12.4. */
const FAILURES: Readonly<Record<FailureReason, string>> = {
  source_unavailable: 'The source did not respond, or responded with server errors only.',
  source_not_found: 'The source has nothing at this address or for this input.',
  access_denied: 'The source refused access.',
  rate_limited_by_source: 'The source is limiting the rate of requests.',
  robots_disallowed: 'The site’s robots.txt forbids these pages, and Gatehouse obeys it.',
  login_required: 'The source shows this only to people who are signed in: a session is needed.',
  session_expired: 'The session is signed out: create a new one.',
  unsupported_content: 'The source returned something that this operation cannot read, such as a picture.',
  parse_failed: 'The source’s response does not have the expected form.',
  schema_mismatch: 'A record does not satisfy the schema of the job.',
  timeout: 'The job took too long.',
  limit_reached: 'The job reached its limit of records, pages or hours.',
  cancelled: 'The job was cancelled.',
  internal_error: 'The service failed. The operator finds details under the request id.',
};

export function failureWords({ failure }: ExtractionRow): string | null {
  if (failure === undefined) return null;
  return `${FAILURES[failure.reason]}${failure.retryable ? ' The same job may succeed later.' : ''}`;
}

/** Returns the present activity of a job in words. `now` in Unix seconds. */
export function activityOf(job: ExtractionRow, now: number): string {
  const { status, waiting_until: until, started_at: started, finished_at: finished } = job;
  if (status === 'queued') return 'Waiting for its turn.';
  if (status === 'running' && until !== null)
    return `Waiting: the source ${cutText(job.connector, 40)} asked for a pause. Resumes at ${formatTime(until, now)}.`;
  if (status === 'running') return `Running for ${formatSeconds(now - (started ?? now))}.`;
  const took = started === null || finished === null ? null : finished - started;
  const failed = failureWords(job);
  if (failed !== null) return failed;
  return took === null ? 'Done.' : `Took ${took === 0 ? 'under 1 s' : formatSeconds(took)}.`;
}

/** Records a second over the whole job; null before there is one. */
export function rateOf(
  { counts, started_at: started, finished_at: finished }: ExtractionRow,
  now: number,
): string | null {
  if (started === null || counts.collected === 0) return null;
  const seconds = Math.max(1, (finished ?? now) - started);
  const rate = counts.collected / seconds;
  return `${rate >= 10 ? formatCount(Math.round(rate)) : rate < 0.1 ? 'under 0.1' : rate.toFixed(1)} records/s`;
}

export function deliveryWords({ delivery: { type, status } }: ExtractionRow): string {
  const to = {
    store: 'stored here',
    sync: 'in the response of the call',
    webhook: 'sent to a webhook',
    destination: 'uploaded',
  }[type];
  return type === 'store' ? to : `${to}: ${status}`;
}
