import type { Facts } from '../facts.ts';
import type { Verdict } from '../fuse.ts';
import type { PolicyMode } from './policy.ts';

/**
 * Returns the verdict that observe mode responds with instead of `verdict`; null if `verdict` itself is the response: when the policy
 * enforces, and for what is on the customer's block list, because lists apply in either mode.
 * Choice: no review hint, as for every other ALLOW. Score and reasons stay.
 */
export function observedVerdict(mode: PolicyMode, verdict: Verdict, list: Facts['list']): Verdict | null {
  if (mode === 'enforce' || list?.decides === 'block') return null;
  return { decision: 'ALLOW', score: verdict.score, reasons: verdict.reasons, reviewHint: '' };
}
