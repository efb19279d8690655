import type { CustomerNumber } from '../kernel/brand.ts';
import {
  CHALLENGER_EXAMPLES_MAX,
  DECISION_SCAN_ROWS_MAX,
  RULE_COUNT_FLAGGED_MAX,
  RULE_COUNT_LABELS_MAX,
} from '../kernel/history-limits.ts';
import { QUERIES } from '../contract/routes.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import type { DecisionReader } from '../history/decision-reader.ts';
import { ChallengerCounter, RuleCounter, type RuleCounts } from '../history/rule-counter.ts';
import type { Coverage, HistoryStats, HistoryStatsPoint } from '../ports/decision-history.ts';
import type { RawRecord } from '../history/decision-log/raw-record.ts';
import { DECISIONS } from '../risk/decision.ts';
import { familyOf } from '../risk/explain.ts';
import type { Labels } from '../state/tables/label-table.ts';
import type { ShadowReviews } from '../state/tables/review-table.ts';
import type { Slices } from '../state/tables/turns.ts';
import { BUSY } from './busy.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler } from './kit/endpoint-types.ts';
import type { OwnPolicies } from './own-policies.ts';
import { readQuery } from './query.ts';
import { readRange } from './time-range.ts';

/** Dependencies of the endpoints that tell what rules and challengers did. Source: contract, 9.8. */
export interface RuleCountParts {
  readonly decisions: Pick<DecisionReader, 'scan'>;
  readonly stats: Pick<HistoryStats<Slices>, 'read'>;
  readonly labels: Pick<Labels, 'newest'>;
  readonly reviews: Pick<ShadowReviews, 'verdicts'>;
  readonly policies: Pick<OwnPolicies, 'present' | 'bandsAt'>;
}

const HOUR_SECONDS = 3_600;
type Fields = Readonly<Record<string, unknown>>;

export function ruleCountHandlers(
  endpoint: EndpointFactory,
  parts: RuleCountParts,
): SecretHandlers<'readRuleCounts' | 'readChallenger'> {
  return {
    readRuleCounts: endpoint({}, ruleCountsHandler(parts)),
    readChallenger: endpoint({}, challengerHandler(parts)),
  };
}

/** Counts what each rule did: its hits from the statistics, its part in flagged decisions from their records. */
function ruleCountsHandler({ decisions, stats, labels, reviews, policies }: RuleCountParts): EndpointHandler {
  return async ({ query, caller, nowMs, nowSeconds, slices, coverage }) => {
    const read = readQuery(query, QUERIES.readRuleCounts);
    if (read.kind === 'problem') return read;
    const range = readRange(read.value, nowSeconds);
    if (range.kind === 'problem') return range;
    const { from, to } = range;
    const { customer } = caller;
    const judgements = {
      labels: await labels.newest(customer, RULE_COUNT_LABELS_MAX, slices),
      verdicts: await reviews.verdicts(customer, slices),
    };
    const counter = new RuleCounter(judgements, policies.bandsAt(customer));
    const wanted = { sinceMs: from * 1000, untilMs: to * 1000, nowMs, rowsMax: DECISION_SCAN_ROWS_MAX, coverage };
    const scanned = await decisions.scan(customer, wanted, (record, _bytes, _at, _end, occurredAtMs) => {
      counter.add(record, occurredAtMs);
      return counter.flagged >= RULE_COUNT_FLAGGED_MAX;
    });
    if (scanned.kind === 'busy') return BUSY;
    const hits = await countHits(stats, { customer, from, to, slices, coverage });
    const codes = [...new Set([...hits.keys(), ...counter.counts.keys()])];
    const rules = codes.map((code) => showRule(code, hits.get(code) ?? 0, counter.counts.get(code)));
    rules.sort((a, b) => b.hits - a.hits || a.reason.localeCompare(b.reason));
    const { rows, isTruncated, oldestMs } = scanned;
    const since = oldestMs === null ? null : Math.floor(oldestMs / 1000);
    const examined = { decisions: rows, flagged: counter.flagged, since, is_truncated: isTruncated };
    return { kind: 'json', status: 200, body: { from, to, examined, rules } };
  };
}

interface HitsRange {
  readonly customer: CustomerNumber;
  /** Unix seconds. */
  readonly from: number;
  readonly to: number;
  readonly slices: Slices;
  readonly coverage: Coverage;
}

/** Returns the number of decisions by reason, of the hours that the range touches. */
async function countHits(
  stats: RuleCountParts['stats'],
  { customer, from, to, slices, coverage }: HitsRange,
): Promise<ReadonlyMap<string, number>> {
  const hits = new Map<string, number>();
  const add = ({ counts }: HistoryStatsPoint): void => {
    for (const [code, count] of counts.reasons) hits.set(code, (hits.get(code) ?? 0) + count);
  };
  await stats.read(customer, from, to, HOUR_SECONDS, slices, add, coverage);
  return hits;
}

/** Compares the decisions since the policy's last change with those that its challenger would have made. */
function challengerHandler({ decisions, policies }: RuleCountParts): EndpointHandler {
  return async ({ caller, nowMs, coverage }) => {
    const { customer } = caller;
    const { atMs, view } = policies.present(customer);
    const challenger = view.challenger();
    const counter = new ChallengerCounter<Fields>(CHALLENGER_EXAMPLES_MAX);
    let isTruncated = false;
    if (challenger !== null) {
      const wanted = { sinceMs: atMs, untilMs: null, nowMs, rowsMax: DECISION_SCAN_ROWS_MAX, coverage };
      const scanned = await decisions.scan(customer, wanted, (record, _bytes, _at, _end, occurredAtMs) => {
        counter.add(record, () => showExample(record, occurredAtMs));
        return false;
      });
      if (scanned.kind === 'busy') return BUSY;
      ({ isTruncated } = scanned);
    }
    const body = {
      active: view.version,
      challenger: challenger?.version ?? null,
      since: challenger === null ? null : Math.floor(atMs / 1000),
      decisions: counter.decisions,
      is_truncated: isTruncated,
      moved: counter.moved,
      matrix: Object.fromEntries(
        DECISIONS.map((made) => [
          made,
          Object.fromEntries(DECISIONS.map((other) => [other, counter.count(made, other)])),
        ]),
      ),
      cells: counter.cells(),
    };
    return { kind: 'json', status: 200, body };
  };
}

function showExample(record: RawRecord, occurredAtMs: number): Fields {
  const reasons: string[] = [];
  record.contributions((code) => reasons.push(code));
  return {
    request_id: record.requestId,
    score: record.score,
    event_type: record.eventType,
    occurred_at: Math.floor(occurredAtMs / 1000),
    reasons,
  };
}

const NOTHING = {
  decisive: 0,
  alone: 0,
  labels: { fraud: 0, legitimate: 0 },
  verdicts: { fraud: 0, legitimate: 0, unsure: 0 },
  fraud: 0,
  legitimate: 0,
};

function showRule(reason: string, hits: number, counts: RuleCounts = NOTHING) {
  const { decisive, alone, labels, verdicts, fraud, legitimate } = counts;
  const judged = fraud + legitimate;
  const precision = judged === 0 ? null : Number((fraud / judged).toFixed(3));
  return { reason, family: familyOf(reason), hits, decisive, alone, labels, verdicts, precision };
}
