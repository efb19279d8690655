import type { ListAction } from './decision.ts';
import type { Verdict } from './fuse.ts';

/** `observe`: decisions are made and logged, and answered as ALLOW. Source: open points, section 7. */
export const POLICY_MODES = ['enforce', 'observe'] as const;
export type PolicyMode = (typeof POLICY_MODES)[number];

/**
 * The verdict that observe mode answers in place of `verdict`; null where the verdict is answered as it is: when the policy
 * enforces, and for a fingerprint on the customer's block list, because lists hold in either mode.
 * Choice: no review hint, as for every other ALLOW. Score and reasons stay.
 */
export function observedVerdict(mode: PolicyMode, verdict: Verdict, list: ListAction | null): Verdict | null {
  if (mode === 'enforce' || list === 'block') return null;
  return { decision: 'ALLOW', score: verdict.score, reasons: verdict.reasons, reviewHint: '' };
}
