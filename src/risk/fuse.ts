import { type Decision, DECISIONS, type SessionMode } from './decision.ts';
import type { Facts, TokenFacts } from './facts.ts';
import type { Bands, Policy } from './policy/policy.ts';
import type { Family, Rule } from './rules/rule.ts';

/** A rule that fired, with its effective weight. */
export interface Contribution {
  readonly rule: Rule;
  /** 0 to 1. */
  readonly weight: number;
  readonly evidence: string;
  /** The decision that a rule of the customer's own asks for. */
  readonly decides?: Decision;
  /** It was evaluated without an effect. */
  readonly isObserved?: boolean;
}

/** What rules of the customer's own add to the decision. */
export interface OwnEffect {
  /** The mildest decision; null without one. */
  readonly floor: { readonly decision: Decision; readonly rule: Rule } | null;
  /** The decision is ALLOW, whatever the score is. */
  readonly isExempt: boolean;
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
 * Combines the evidence into a verdict. Within a family the strongest weight counts; over families `100 * (1 - Π(1 - w))`. The customer's
 * own list overrides the rest, and then rules of the customer's own that have a decision. Source: contract, 6.2, 6.7 and 7.2.
 */
export function fuse(
  contributions: readonly Contribution[],
  facts: Pick<Facts, 'eventType' | 'list'>,
  policy: Policy,
  own: OwnEffect = NO_OWN_EFFECT,
): Verdict {
  const counting = unsilenced(contributions, facts.list);
  const reasons = counting.map((c) => c.rule.code);
  if (facts.list?.decides === 'block') {
    return { decision: 'BLOCK', score: 100, reasons, reviewHint: reviewHint('BLOCK', counting) };
  }
  const score = fusedScore(counting);
  if (facts.list?.decides === 'allow' || own.isExempt) return { decision: 'ALLOW', score, reasons, reviewHint: '' };
  const decision = withoutLoneModel(band(score, facts.eventType, policy), counting, facts.eventType, policy);
  const { floor } = own;
  if (floor !== null && DECISIONS.indexOf(floor.decision) > DECISIONS.indexOf(decision))
    return {
      decision: floor.decision,
      score,
      reasons,
      reviewHint: reviewHint(floor.decision, [{ ...floor, weight: 1 }]),
    };
  return { decision, score, reasons, reviewHint: reviewHint(decision, counting) };
}

/** A model is trained on the past and may be wrong about everybody at once, so BLOCK needs another reason. Source: contract, 6.2. */
function withoutLoneModel(
  decision: Decision,
  counting: readonly Contribution[],
  eventType: string,
  policy: Policy,
): Decision {
  if (decision !== 'BLOCK' || counting.some(({ rule, weight }) => rule.family !== 'model' && weight > 0))
    return decision;
  return bandsFor(eventType, policy).review === null ? 'SOFT_CHALLENGE' : 'REVIEW';
}

/** Returns the evidence that the customer's own lists do not drop. */
export function unsilenced(contributions: readonly Contribution[], list: Facts['list']): readonly Contribution[] {
  const silenced = list?.silenced ?? [];
  return silenced.length === 0 ? contributions : contributions.filter(({ rule }) => !silenced.includes(rule.family));
}

const NO_OWN_EFFECT: OwnEffect = { floor: null, isExempt: false };

/** What fusing reads of a contribution. */
export interface Evidence {
  readonly rule: Pick<Rule, 'family'>;
  readonly weight: number;
}

/** Noisy-or over families, 0 to 100, rounded to one decimal. Adding a contribution never lowers it. */
export function fusedScore(contributions: readonly Evidence[]): number {
  let calm = 1;
  let at = 0;
  for (const { rule, weight } of contributions) {
    if (isStrongestOfFamily(contributions, at, rule.family, weight)) calm *= 1 - clampUnit(weight);
    at++;
  }
  return scoreOf(calm);
}

/** Returns the score of a product of `1 - weight`. */
export function scoreOf(calm: number): number {
  // Rounds to 12 places first, so that a tie in tenths rounds up although products of binary fractions fall slightly short of it.
  return Math.round(Math.round((1 - calm) * 1e12) / 1e9) / 10;
}

/** Few rules fire at once, so a scan over the others is cheaper than a map. The first one wins a tie. */
export function isStrongestOfFamily(all: readonly Evidence[], at: number, family: Family, weight: number): boolean {
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

/** Returns the decision for a score; bands use the rounded score. */
export function band(score: number, eventType: string, policy: Policy): Decision {
  return decisionAt(score, bandsFor(eventType, policy));
}

export function decisionAt(score: number, bands: Bands): Decision {
  if (score >= bands.block) return 'BLOCK';
  if (bands.review !== null && score >= bands.review) return 'REVIEW';
  if (score >= bands.softChallenge) return 'SOFT_CHALLENGE';
  return score >= bands.allowWatch ? 'ALLOW_WATCH' : 'ALLOW';
}

/** Returns the bands of an event type. */
export function bandsFor(
  eventType: string,
  { bands, eventTypeBands }: Pick<Policy, 'bands' | 'eventTypeBands'>,
): Bands {
  return Object.hasOwn(eventTypeBands, eventType) ? (eventTypeBands[eventType] ?? bands) : bands;
}

/** What a hint reads of a contribution. */
export interface HintingEvidence {
  readonly rule: Pick<Rule, 'code' | 'hint'>;
  readonly weight: number;
}

/** Returns one sentence that names the strongest evidence, for the decisions that a person may review; else `''`. */
export function reviewHint(decision: Decision, contributions: readonly HintingEvidence[]): string {
  if (decision === 'ALLOW' || decision === 'ALLOW_WATCH') return '';
  let strongest: HintingEvidence | undefined;
  for (const c of contributions) if (strongest === undefined || c.weight > strongest.weight) strongest = c;
  return strongest === undefined ? '' : `Strongest evidence: ${strongest.rule.hint} (${strongest.rule.code}).`;
}

/** Source: contract, 5.2. `degraded` means that an asset which is configured was unavailable. */
export function sessionMode(token: TokenFacts, degraded: boolean): SessionMode {
  if (token.kind === 'none') return 'no_session';
  if (degraded) return 'degraded';
  return token.kind === 'collector' ? 'full' : 'unverified';
}
