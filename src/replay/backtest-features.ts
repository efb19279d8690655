import type { CustomerNumber } from '../kernel/brand.ts';
import type { Decision } from '../risk/decision.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import type { RecordedContribution } from '../risk/record-contributions.ts';
import type { TunedRule } from '../risk/evaluate.ts';
import { decisionAt, fusedScore, type Evidence } from '../risk/fuse.ts';
import type { CompiledPolicy, PolicySet } from '../risk/policy/policy-set.ts';
import { BacktestCounts, type BacktestResult } from './backtest.ts';

/** Reasons that decide whatever the score is. */
const OVERRIDES: Readonly<Record<string, Decision>> = {
  list_block: 'BLOCK',
  list_allow: 'ALLOW',
  missing_session_token: 'SOFT_CHALLENGE',
};

/**
 * An approximation of a backtest without logged requests: what fired is weighed again. New weights, rules that are off and bands count;
 * thresholds, own rules and trusted sources cannot, and `facts_missing` names what they read.
 */
export class FeaturesBacktest {
  readonly #customer: CustomerNumber;
  readonly #before: PolicySet;
  readonly #after: PolicySet;
  readonly #counts = new BacktestCounts();
  readonly #missing = new Set<string>();
  #fromMs: number | null = null;

  constructor(customer: CustomerNumber, before: PolicySet, after: PolicySet) {
    this.#customer = customer;
    this.#before = before;
    this.#after = after;
  }

  add(record: DecisionRecord, label: 'fraud' | 'legitimate' | null): void {
    const before = this.#before.of(this.#customer, record.eventType);
    const after = this.#after.of(this.#customer, record.eventType);
    this.#fromMs = Math.min(this.#fromMs ?? record.occurredAtMs, record.occurredAtMs);
    this.#noteMissing(before, after);
    const made = record.wouldBe ?? record.decision;
    const { decision, reasons } = weighAgain(record.contributions, made, before, after);
    const person = (): string | null => record.fingerprintHash ?? record.ip;
    this.#counts.add({ request_id: record.requestId, before: made, after: decision, reasons }, label, person);
  }

  result(damagedBlocks: number): BacktestResult {
    const damaged = damagedBlocks === 0 ? [] : [{ file: 'decision log', fromByte: 0, toByte: 0 }];
    return {
      source: 'features',
      facts_missing: [...this.#missing].sort(),
      ...this.#counts.result(),
      rules: [],
      recorded: null,
      log_from: this.#fromMs === null ? null : new Date(this.#fromMs).toISOString(),
      damaged,
    };
  }

  #noteMissing(before: CompiledPolicy, after: CompiledPolicy): void {
    for (const { own, condition } of after.own ?? [])
      if (own.mode === 'enforce') for (const { name } of condition.facts) this.#missing.add(name);
    for (const tuned of after.rules) {
      const old = before.rules.find(({ index }) => index === tuned.index);
      for (const [name, value] of Object.entries(tuned.thresholds))
        if (old === undefined || old.thresholds[name] !== value) this.#missing.add(`${tuned.rule.code}.${name}`);
    }
  }
}

function weighAgain(
  contributions: readonly RecordedContribution[],
  made: Decision,
  before: CompiledPolicy,
  after: CompiledPolicy,
): { readonly decision: Decision; readonly reasons: readonly string[] } {
  const reasons: string[] = [];
  const evidence: Evidence[] = [];
  for (const { code, weight } of contributions) {
    const override = OVERRIDES[code];
    if (override !== undefined) return { decision: override, reasons: [code] };
    const tuned = after.rules.find(({ rule }) => rule.code === code);
    if (tuned === undefined) continue;
    reasons.push(code);
    const old = before.rules.find(({ rule }) => rule.code === code);
    evidence.push({ rule: tuned.rule, weight: newWeight(weight, old, tuned) });
  }
  // Nothing is known of the decision of an own rule under another policy.
  const decided = contributions.some(({ decides }) => decides !== undefined);
  return { decision: decided ? made : decisionAt(fusedScore(evidence), after.bands), reasons };
}

/** Choice: stored weights have three decimals. */
const SAME_WEIGHT = 0.000_6;

/** Returns the weight of the same level under the new policy. */
function newWeight(weight: number, old: TunedRule | undefined, tuned: TunedRule): number {
  for (const [level, was] of Object.entries(old?.weights ?? {}))
    if (Math.abs(was - weight) < SAME_WEIGHT) return tuned.weights[level] ?? weight;
  return weight;
}
