import type { DecisionReader } from '../history/decision-reader.ts';
import { FingerprintUsage } from '../history/fingerprint-usage.ts';
import { DECISION_SCAN_ROWS_MAX } from '../kernel/history-limits.ts';
import type { AnyRequest } from './kit/endpoint-types.ts';

const DAY_MS = 86_400_000;

/** Rows of a page whose use is shown. Choice: as many as a person looks at; the cost does not depend on it. */
export const USAGE_ROWS_MAX = 100;

type ShowUsage = (fingerprint: string) => Readonly<Record<string, unknown>>;

/**
 * Counts the caller's decisions of the last 24 hours with these fingerprints, in one pass over the newest `DECISION_SCAN_ROWS_MAX`. Returns
 * a function that returns `day` for a row; null while too many searches are running.
 */
export async function readUsage(
  decisions: Pick<DecisionReader, 'scan'>,
  { caller, nowMs, coverage }: AnyRequest,
  fingerprints: readonly string[],
): Promise<ShowUsage | null> {
  const usage = new FingerprintUsage(fingerprints);
  const query = { sinceMs: nowMs - DAY_MS, untilMs: null, nowMs, rowsMax: DECISION_SCAN_ROWS_MAX, coverage };
  const scanned = await decisions.scan(caller.customer, query, (record, bytes, _at, end, occurredAtMs) => {
    usage.add(record, bytes, end, occurredAtMs);
    return false;
  });
  if (scanned.kind === 'busy') return null;
  return (fingerprint) => {
    const { lastSeenMs, ...counts } = usage.of(fingerprint);
    const seen = lastSeenMs === null ? null : Math.floor(lastSeenMs / 1000);
    return { day: { ...counts, last_seen: seen, is_truncated: scanned.isTruncated } };
  };
}
