import type { ListAction } from '../decision.ts';
import type { Verdict } from '../fuse.ts';
import type { PolicyMode } from './policy.ts';

/**
 * Returns the verdict that observe mode responds with instead of `verdict`; null if `verdict` itself is the response: when the policy
 * enforces, and for a fingerprint on the customer's block list, because lists apply in either mode.
 * Choice: no review hint, as for every other ALLOW. Score and reasons stay.
 */
export function observedVerdict(mode: PolicyMode, verdict: Verdict, list: ListAction | null): Verdict | null {
  if (mode === 'enforce' || list === 'block') return null;
  return { decision: 'ALLOW', score: verdict.score, reasons: verdict.reasons, reviewHint: '' };
}
