import type { KeyUsage } from '../auth/key-usage.ts';
import type { DecideObserver, ObservedKey } from '../decide/observer.ts';
import type { AnswerReader } from '../frames/batch-buffer.ts';
import { readRecordHead, type RecordHead } from '../history/decision-log/record-head.ts';
import type { DecisionStats } from '../history/stats/decision-stats.ts';
import type { PeriodCounts } from '../history/stats/period-counts.ts';
import type { AddressShares } from '../observe/address-shares.ts';
import type { RuleTrips } from './rule-trips.ts';
import { eventTypeOf, hasSession } from '../risk/decision-record.ts';

/** Passes every event of the decide path on, and counts it for its customer and its key. Runs after the response was sent. */
export function recordingStats(
  observer: DecideObserver,
  stats: DecisionStats,
  keyUsage: KeyUsage,
  addresses: AddressShares,
  trips: Pick<RuleTrips, 'count'> | null,
  nowMs: () => number,
): DecideObserver {
  const head: RecordHead = { decision: 0, occurredAtMs: 0 };
  const refuse = (code: string, { customer, number }: ObservedKey): void => {
    const atMs = nowMs();
    stats.countsOf(customer, atMs)?.refused(code);
    keyUsage.refused(number, code, Math.floor(atMs / 1000));
  };
  return {
    refused(code, key) {
      observer.refused(code, key);
      if (key !== null) refuse(code, key);
    },
    batchLeft: (count) => observer.batchLeft(count),
    batchFailed: (error) => observer.batchFailed(error),
    decided(pending, answers, at, latencyMs) {
      observer.decided(pending, answers, at, latencyMs);
      const { customer, number, kind } = pending.request.key;
      const atMs = nowMs();
      keyUsage.accepted(number, Math.floor(atMs / 1000));
      const record = answers.record(at);
      // The minute of the log, so that both can be compared.
      const counts = stats.countsOf(customer, readRecordHead(record, head) ? head.occurredAtMs : atMs);
      if (counts !== null) count(counts, answers, at, latencyMs);
      if (kind !== 'secret' || record.length === 0) return;
      addresses.count(customer, record, atMs);
      trips?.count(customer, record, atMs);
    },
    scoreRefused(code, internalDetail, key) {
      observer.scoreRefused(code, internalDetail, key);
      refuse(code, key);
    },
  };
}

function count(counts: PeriodCounts, answers: AnswerReader, at: number, latencyMs: number): void {
  const record = answers.record(at);
  // A record that outgrew its slot is empty.
  const eventType = record.length === 0 ? '' : eventTypeOf(record);
  counts.decided(answers.decision(at), answers.score(at), latencyMs, eventType);
  if (record.length > 0 && !hasSession(record)) counts.reason('missing_session_token');
  counts.fired(answers.rulesLow(at), answers.rulesHigh(at), answers.rulesTop(at));
}
