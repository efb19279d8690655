import type { Facts } from './facts.ts';
import type { Contribution } from './fuse.ts';
import type { Policy } from './policy/policy.ts';
import type { Rule, Thresholds } from './rules/rule.ts';

/** A rule under a policy: its effective weights and thresholds, and its bit in batch buffers. */
export interface TunedRule {
  readonly rule: Rule;
  /** Position in the table of rules. */
  readonly index: number;
  readonly weights: Readonly<Record<string, number>>;
  readonly thresholds: Thresholds;
  /** The rule's `evaluateComplete`, or its `evaluate` without one; pass all thresholds. */
  readonly evaluate: Rule['evaluate'];
  /** It fires without adding anything; absent: it adds. */
  readonly isSilent?: boolean;
}

/** Returns the rules that are on, with the policy's weights and thresholds applied. */
export function tuneRules(rules: readonly Rule[], policy: Policy): readonly TunedRule[] {
  return rules
    .map((rule, index) => ({
      rule,
      index,
      weights: tunedWeights(rule, policy),
      thresholds: tunedThresholds(rule, policy),
      evaluate: rule.evaluateComplete ?? rule.evaluate,
    }))
    .filter(({ rule }) => !policy.rulesOff.includes(rule.code));
}

function tunedWeights(rule: Rule, policy: Policy): Readonly<Record<string, number>> {
  const weights: Record<string, number> = {};
  for (const [level, weight] of Object.entries(rule.weights)) {
    const name = level === 'default' ? rule.code : `${rule.code}.${level}`;
    weights[level] = policy.weights[name] ?? weight;
  }
  return weights;
}

function tunedThresholds(rule: Rule, policy: Policy): Thresholds {
  const own = Object.entries(rule.thresholds ?? {});
  return Object.fromEntries(own.map(([name, value]) => [name, policy.thresholds[`${rule.code}.${name}`] ?? value]));
}

/** The rules that fired, and their bits in a batch buffer. */
export interface Evaluated {
  readonly contributions: Contribution[];
  rulesLow: number;
  rulesHigh: number;
  rulesTop: number;
}

/** Evaluates all rules over the facts of one request. */
export function evaluateRules(rules: readonly TunedRule[], facts: Facts, policy: Policy): Evaluated {
  const evaluated: Evaluated = { contributions: [], rulesLow: 0, rulesHigh: 0, rulesTop: 0 };
  for (const tuned of rules) {
    const hit = tuned.evaluate(facts, policy, tuned.thresholds);
    if (hit !== null) addHit(evaluated, tuned, hit.level ?? 'default', hit.scale ?? 1, hit.evidence);
  }
  return evaluated;
}

export function addHit(into: Evaluated, tuned: TunedRule, level: string, scale: number, evidence: string): void {
  if (tuned.isSilent === true) return;
  into.contributions.push({ rule: tuned.rule, weight: (tuned.weights[level] ?? 0) * scale, evidence });
  if (tuned.index < 32) into.rulesLow = (into.rulesLow | (1 << tuned.index)) >>> 0;
  else if (tuned.index < 64) into.rulesHigh = (into.rulesHigh | (1 << (tuned.index - 32))) >>> 0;
  else into.rulesTop = (into.rulesTop | (1 << (tuned.index - 64))) >>> 0;
}

/** Returns whether a rule with this code fired. */
export function hasFired(evaluated: Evaluated, code: string): boolean {
  for (const contribution of evaluated.contributions) if (contribution.rule.code === code) return true;
  return false;
}
