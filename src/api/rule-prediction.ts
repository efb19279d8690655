import type { DecisionReader } from '../history/decision-reader.ts';
import { DECISION_SCAN_ROWS_MAX } from '../kernel/history-limits.ts';
import { isSameCondition, type OwnRule, type TouchedShare } from '../risk/policy/own-rule.ts';
import type { StoredRule } from '../state/tables/own-rule-table.ts';
import type { AnyRequest } from './kit/endpoint-types.ts';

const DAY_MS = 86_400_000;

/**
 * Returns what a rule is expected to touch from now on: what the caller gives, else what it did while it was observed with this condition.
 * Undefined if neither is known.
 */
export async function predictionOf(
  decisions: Pick<DecisionReader, 'scan'>,
  request: AnyRequest,
  rule: OwnRule,
  given: TouchedShare | null | undefined,
  before: StoredRule | null,
): Promise<TouchedShare | undefined> {
  if (given !== undefined) return given ?? undefined;
  if (before === null || !isSameCondition(before, rule)) return undefined;
  if (before.mode === 'enforce' || rule.mode === 'observe') return before.predicted;
  return (await observedShare(decisions, request, before)) ?? before.predicted;
}

/** Counts at most a day. Null without a decision, and while too many searches run: a rule can always be enforced. */
async function observedShare(
  decisions: Pick<DecisionReader, 'scan'>,
  { caller, nowMs, coverage }: AnyRequest,
  { code, eventTypes, sinceMs, updatedAtMs }: StoredRule,
): Promise<TouchedShare | null> {
  const counted = { touched: 0, decisions: 0 };
  const query = {
    sinceMs: Math.max(sinceMs ?? updatedAtMs, nowMs - DAY_MS),
    untilMs: null,
    nowMs,
    rowsMax: DECISION_SCAN_ROWS_MAX,
    coverage,
  };
  const scanned = await decisions.scan(caller.customer, query, (record) => {
    if (record.publicKey || eventTypes?.includes(record.eventType) === false) return false;
    counted.decisions++;
    record.observed((fired) => {
      if (fired === code) counted.touched++;
    });
    return false;
  });
  return scanned.kind === 'busy' || counted.decisions === 0 ? null : counted;
}
