import type { CustomerNumber } from '../../kernel/brand.ts';
import type { RawRecord } from '../decision-log/raw-record.ts';
import type { DecisionLog } from '../decision-log.ts';
import { PeriodCounts } from './period-counts.ts';

const MINUTE_MS = 60_000;
const NO_SESSION = 'missing_session_token';

/** Times of logged decisions, Unix ms. */
export interface RecountRange {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/**
 * Counts a customer's logged decisions by minute, without latencies and refusals; null if the log is busy. Stops early, with counts that
 * are too low, once `isStopped`.
 */
export async function recountMinutes(
  log: Pick<DecisionLog, 'scan'>,
  customer: CustomerNumber,
  { sinceMs, untilMs }: RecountRange,
  isStopped: () => boolean,
): Promise<ReadonlyMap<number, PeriodCounts> | null> {
  const minutes = new Map<number, PeriodCounts>();
  const query = { sinceMs, untilMs, nowMs: untilMs, rowsMax: Number.POSITIVE_INFINITY };
  const scanned = await log.scan(customer, query, (record, _bytes, _at, _end, occurredAtMs) => {
    const minute = Math.floor(occurredAtMs / MINUTE_MS);
    let counts = minutes.get(minute);
    if (counts === undefined) minutes.set(minute, (counts = new PeriodCounts()));
    count(counts, record);
    return isStopped();
  });
  return scanned.kind === 'busy' ? null : minutes;
}

function count(counts: PeriodCounts, record: RawRecord): void {
  counts.decided(record.made, record.score, 0, record.eventType);
  if (record.fingerprint === null) counts.reason(NO_SESSION);
  record.contributions((code) => {
    if (code !== NO_SESSION) counts.reason(code);
  });
}

/** Returns the counts of a minute: recounted if the log has more decisions than were stored, else null. */
export function recounted(counts: PeriodCounts, stored: PeriodCounts | null): PeriodCounts | null {
  if (decisionsOf(counts) <= (stored === null ? 0 : decisionsOf(stored))) return null;
  // Finer than those of the log, and refusals are not in it.
  for (let at = 0; at < counts.latency.length; at++) counts.latency[at] = stored?.latency[at] ?? 0;
  if (stored !== null) counts.refusals.addAll(stored.refusals);
  return counts;
}

function decisionsOf({ decisions }: PeriodCounts): number {
  return decisions.reduce((sum, count) => sum + count, 0);
}
