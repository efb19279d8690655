import type { DecideObserver, ObservedKey } from '../decide/observer.ts';
import type { AnswerReader } from '../frames/batch-buffer.ts';
import { readRecordHead, type RecordHead } from '../history/decision-log/record-head.ts';
import type { PeriodCounts } from '../history/stats/period-counts.ts';
import { eventTypeOf, hasSession } from '../risk/decision-record.ts';
import { MODEL_CODE } from '../risk/rules/model_score.ts';
import { RULES } from '../risk/rules/rule-table.ts';
import type { ModelBreaker } from './model-breaker.ts';
import type { RuleTrips } from './rule-trips.ts';
import type { ServiceParts } from './service-parts.ts';

/** What counts decisions. */
export interface CountingParts extends Pick<ServiceParts, 'stats' | 'keyUsage' | 'addresses'> {
  readonly policies: {
    readonly trips: Pick<RuleTrips, 'count'>;
    readonly modelBreaker: Pick<ModelBreaker, 'count'>;
  } | null;
}

/** Passes every event of the decide path on, and counts it for its customer and its key. Runs after the response was sent. */
export function recordingStats(
  observer: DecideObserver,
  { stats, keyUsage, addresses, policies }: CountingParts,
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
      if (policies === null) return;
      policies.trips.count(customer, record, atMs);
      policies.modelBreaker.count(customer, record, hasModelFired(answers, at), atMs);
    },
    scoreRefused(code, internalDetail, key) {
      observer.scoreRefused(code, internalDetail, key);
      refuse(code, key);
    },
  };
}

const MODEL_RULE = RULES.findIndex(({ code }) => code === MODEL_CODE);

function hasModelFired(answers: AnswerReader, at: number): boolean {
  const [low, high, top] = [answers.rulesLow(at), answers.rulesHigh(at), answers.rulesTop(at)];
  const bits = MODEL_RULE < 32 ? low : MODEL_RULE < 64 ? high : top;
  return ((bits >>> (MODEL_RULE % 32)) & 1) === 1;
}

function count(counts: PeriodCounts, answers: AnswerReader, at: number, latencyMs: number): void {
  const record = answers.record(at);
  // A record that outgrew its slot is empty.
  const eventType = record.length === 0 ? '' : eventTypeOf(record);
  counts.decided(answers.decision(at), answers.score(at), latencyMs, eventType);
  if (record.length > 0 && !hasSession(record)) counts.reason('missing_session_token');
  counts.fired(answers.rulesLow(at), answers.rulesHigh(at), answers.rulesTop(at));
}
