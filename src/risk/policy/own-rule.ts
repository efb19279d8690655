import { OWN_RULE_MODES, type OwnRuleMode } from '../../contract/vocabulary.ts';
import type { Decision } from '../decision.ts';

/** Rules that a customer or the operator writes. Source: contract, 6.7. */

export { OWN_RULE_MODES, type OwnRuleMode };

/** A rule as it is written. Exactly one of `weight` and `decision` is given. */
export interface OwnRule {
  /** `own_…`. */
  readonly code: string;
  readonly when: string;
  /** 0 to 1. */
  readonly weight: number | null;
  /** The mildest decision while the rule fires; ALLOW exempts from all evidence but lists. */
  readonly decision: Decision | null;
  readonly mode: OwnRuleMode;
  /** In lower case; null for all. */
  readonly eventTypes: readonly string[] | null;
  readonly note: string;
  /** Null for ever. */
  readonly expiresAtSeconds: number | null;
  /** What it is expected to touch while it is enforced; absent: unknown, and no circuit breaker watches it. */
  readonly predicted?: TouchedShare;
}

/** Decisions of the rule's event types that were requested with a secret key, and those of them on which the rule fired. */
export interface TouchedShare {
  readonly touched: number;
  readonly decisions: number;
}

/** Choice: what a person can keep in mind, several times over. Source: contract, 6.7. */
export const OWN_RULES_MAX = 200;
export const OWN_CODE = /^own_[a-z0-9_]{1,40}$/;
/** Choice: steps of all rules of one decision; some 0.1 ms. */
export const OWN_RULES_COST_MAX = 20_000;

/** Returns whether two rules fire on the same decisions. */
export function isSameCondition(a: OwnRule, b: OwnRule): boolean {
  return a.when === b.when && String(a.eventTypes) === String(b.eventTypes);
}
