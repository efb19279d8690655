import type { Verdict } from '../risk/fuse.ts';

/** The verdict of a request without a session token, for which no rule is evaluated. Source: contract, 4.3. */
export const NO_SESSION: Verdict = {
  decision: 'SOFT_CHALLENGE',
  score: 50,
  reasons: ['missing_session_token'],
  reviewHint: 'Strongest evidence: the request carries no session token (missing_session_token).',
};

export const NO_SESSION_CONTRIBUTIONS = [
  { rule: { code: 'missing_session_token' }, weight: 0.5, evidence: 'no session token' },
] as const;
