import type { Decision, SessionMode } from './decision.ts';
import type { Facts, TokenFacts } from './facts.ts';
import type { Bands, Policy } from './policy.ts';
import type { Family, Rule } from './rule.ts';

/** A rule that fired, with the weight that counts for it. */
export interface Contribution {
  readonly rule: Rule;
  /** 0 to 1. */
  readonly weight: number;
  readonly evidence: string;
}

export interface Verdict {
  readonly decision: Decision;
  /** 0 to 100, one decimal. */
  readonly score: number;
  /** Codes of all rules that fired, each once, in the order of the table of rules. */
  readonly reasons: readonly string[];
  readonly reviewHint: string;
}

/**
 * Evidence → verdict. Within a family the strongest weight counts; over families `100 * (1 - Π(1 - w))`.
 * The customer's own list has the last word. Source: open points, section 2.
 */
export function fuse(
  contributions: readonly Contribution[],
  facts: Pick<Facts, 'eventType' | 'list'>,
  policy: Policy,
): Verdict {
  const counting = facts.list === 'allow' ? contributions.filter((c) => c.rule.family !== 'registry') : contributions;
  const reasons = counting.map((c) => c.rule.code);
  if (facts.list === 'block') {
    return { decision: 'BLOCK', score: 100, reasons, reviewHint: reviewHint('BLOCK', counting) };
  }
  const score = fusedScore(counting);
  const decision = facts.list === 'allow' ? 'ALLOW' : band(score, facts.eventType, policy);
  return { decision, score, reasons, reviewHint: reviewHint(decision, counting) };
}

/** Noisy-or over families, 0 to 100, rounded to one decimal. Adding a contribution never lowers it. */
export function fusedScore(contributions: readonly Contribution[]): number {
  let calm = 1;
  let at = 0;
  for (const { rule, weight } of contributions) {
    if (isStrongestOfFamily(contributions, at, rule.family, weight)) calm *= 1 - clampUnit(weight);
    at++;
  }
  // First to 12 places, so that a half in tenths goes up although products of binary fractions fall a hair short of it.
  return Math.round(Math.round((1 - calm) * 1e12) / 1e9) / 10;
}

/** Few rules fire at once, so a scan over the others costs less than a map would. The first of equals counts. */
function isStrongestOfFamily(all: readonly Contribution[], at: number, family: Family, weight: number): boolean {
  let other = -1;
  for (const contribution of all) {
    other++;
    if (other === at || contribution.rule.family !== family) continue;
    if (contribution.weight > weight || (contribution.weight === weight && other < at)) return false;
  }
  return true;
}

function clampUnit(weight: number): number {
  return weight > 0 ? Math.min(weight, 1) : 0;
}

/** The decision of a score; bands use the rounded score. */
export function band(score: number, eventType: string, policy: Policy): Decision {
  const bands = bandsFor(eventType, policy);
  if (score >= bands.block) return 'BLOCK';
  if (bands.review !== null && score >= bands.review) return 'REVIEW';
  if (score >= bands.softChallenge) return 'SOFT_CHALLENGE';
  return score >= bands.allowWatch ? 'ALLOW_WATCH' : 'ALLOW';
}

/** The bands of an event type. */
export function bandsFor(
  eventType: string,
  { bands, eventTypeBands }: Pick<Policy, 'bands' | 'eventTypeBands'>,
): Bands {
  return Object.hasOwn(eventTypeBands, eventType) ? (eventTypeBands[eventType] ?? bands) : bands;
}

/** One sentence naming the strongest evidence, for the decisions that a person may look at; else `''`. */
export function reviewHint(
  decision: Decision,
  contributions: readonly Pick<Contribution, 'rule' | 'weight'>[],
): string {
  if (decision === 'ALLOW' || decision === 'ALLOW_WATCH') return '';
  let strongest: Pick<Contribution, 'rule' | 'weight'> | undefined;
  for (const c of contributions) if (strongest === undefined || c.weight > strongest.weight) strongest = c;
  return strongest === undefined ? '' : `Strongest evidence: ${strongest.rule.hint} (${strongest.rule.code}).`;
}

/** Source: open points, section 2. `degraded` says that a layer which is set up could not run. */
export function sessionMode(token: TokenFacts, degraded: boolean): SessionMode {
  if (token.kind === 'none') return 'no_session';
  if (degraded) return 'degraded';
  return token.kind === 'collector' ? 'full' : 'unverified';
}
