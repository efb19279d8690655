import { REQUEST_ASKED_SHIFT } from '../frames/batch-buffer.ts';
import { DECISIONS, type Decision, isStop } from '../risk/decision.ts';
import type { Verdict } from '../risk/fuse.ts';

/** Decisions that requests of test keys ask for. Source: contract, 3.11. */

/** Scores in the bands of the default policy. */
const SCORES: Readonly<Record<Decision, number>> = {
  ALLOW: 0,
  ALLOW_WATCH: 35,
  SOFT_CHALLENGE: 55,
  REVIEW: 70,
  BLOCK: 100,
};

export const ASKED_CONTRIBUTION = { rule: { code: 'test_input' }, weight: 0, evidence: 'a test input' } as const;

/** Returns the verdict that a request asks for, whatever else was found; null if it asks for none. */
export function askedVerdict(
  flags: number,
  found: readonly { readonly rule: { readonly code: string } }[],
): Verdict | null {
  const decision = DECISIONS[(flags >>> REQUEST_ASKED_SHIFT) - 1];
  if (decision === undefined) return null;
  const reviewHint = isStop(decision) ? 'Strongest evidence: a test input asked for this decision (test_input).' : '';
  const reasons = [ASKED_CONTRIBUTION, ...found].map(({ rule }) => rule.code);
  return { decision, score: SCORES[decision], reasons, reviewHint };
}
