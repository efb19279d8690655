import type { Decision } from './decision.ts';
import type { DecisionRecord } from './decision-record.ts';
import { decisionAt, type Evidence, fusedScore, isStrongestOfFamily, scoreOf } from './fuse.ts';
import type { Bands } from './policy/policy.ts';
import type { Family } from './rules/rule.ts';
import { RULES } from './rules/rule-table.ts';

/** Explains a stored decision by fusing its evidence again. */

/** Reasons that make the decision whatever the score is. Source: contract, 4.3 and 7.2. */
export const OVERRIDES = ['list_block', 'list_allow', 'missing_session_token'] as const;
export type Override = (typeof OVERRIDES)[number];

export interface Explanation {
  /** For each contribution of the record, in its order. */
  readonly contributions: readonly ExplainedContribution[];
  /** The largest weight first. */
  readonly families: readonly FamilyStep[];
  readonly overriddenBy: Override | null;
}

export interface ExplainedContribution {
  readonly family: string;
  /** Whether it has the largest weight of its family. */
  readonly counts: boolean;
  /**
   * Score and decision without it; outside of observe mode, where it is the decision that would have been made. The decision is null if the
   * bands are unknown. Null for a missing token, without which rules would have run.
   */
  readonly without: { readonly score: number; readonly decision: Decision | null } | null;
}

export interface FamilyStep {
  readonly family: string;
  /** The reason that counts. */
  readonly reason: string;
  /** 0 to 100, one decimal. */
  readonly from: number;
  readonly to: number;
}

/** The family of a reason that no rule of this version has. Each of them counts by itself. */
export const UNKNOWN_FAMILY = 'unknown';

const FAMILIES: ReadonlyMap<string, Family> = new Map([
  ...RULES.map(({ code, family }) => [code, family] as const),
  ['missing_session_token', 'token'],
]);

export function familyOf(code: string): string {
  return FAMILIES.get(code) ?? UNKNOWN_FAMILY;
}

interface Stored extends Evidence {
  readonly code: string;
}

/** `bands` are those of the decision's event type at its time; null if they are not known any more. */
export function explain({ contributions }: Pick<DecisionRecord, 'contributions'>, bands: Bands | null): Explanation {
  const all: readonly Stored[] = contributions.map(({ code, weight }) => ({
    code,
    weight,
    // Two reasons of unknown families must not share one.
    rule: { family: FAMILIES.get(code) ?? (`${UNKNOWN_FAMILY} ${code}` as Family) },
  }));
  const counting = all.filter(({ rule, weight }, at) => isStrongestOfFamily(all, at, rule.family, weight));
  return {
    contributions: all.map((one) => ({
      family: familyOf(one.code),
      counts: counting.includes(one),
      without:
        one.code === 'missing_session_token'
          ? null
          : without(
              all.filter((other) => other !== one),
              bands,
            ),
    })),
    families: stepsOf(counting),
    overriddenBy: overrideOf(all),
  };
}

function without(rest: readonly Stored[], bands: Bands | null): { score: number; decision: Decision | null } {
  const override = overrideOf(rest);
  if (override === 'list_block') return { score: 100, decision: 'BLOCK' };
  const score = fusedScore(rest);
  if (override === 'list_allow') return { score, decision: 'ALLOW' };
  return { score, decision: bands === null ? null : decisionAt(score, bands) };
}

function overrideOf(all: readonly Stored[]): Override | null {
  return OVERRIDES.find((code) => all.some((one) => one.code === code)) ?? null;
}

function stepsOf(counting: readonly Stored[]): readonly FamilyStep[] {
  let calm = 1;
  const steps: FamilyStep[] = [];
  for (const { code, weight } of counting.toSorted((a, b) => b.weight - a.weight)) {
    const from = scoreOf(calm);
    calm *= 1 - Math.min(Math.max(weight, 0), 1);
    steps.push({ family: familyOf(code), reason: code, from, to: scoreOf(calm) });
  }
  return steps;
}
