import { hit, type Rule } from './rule.ts';

const EVIDENCE = {
  signature: 'grant or signature were altered or made up',
  customer: 'the grant belongs to another customer',
  origin: 'the grant belongs to another page',
  expired: 'the grant has expired',
} as const;

/**
 * Fires when the grant of a collector token does not prove that a page of the customer made it: the grant or the token was altered or made
 * up, or belongs to another customer or origin. Level `expired`: it is genuine and over 35 minutes old; weighs less, because a computer
 * that wakes up may send a form before its page renews the grant. Quiet for tokens without a grant, which claim nothing.
 * Source of the weight: the default rules. Choice: `expired` alone is watched, not challenged.
 */
export const tokenForged: Rule = {
  code: 'token_forged',
  family: 'token',
  weights: { default: 0.7, expired: 0.3 },
  hint: 'the session token was not made by the page that it names',
  quietedBy: 'tokens without a grant',
  evaluate({ grant }) {
    const fault = grant?.fault ?? null;
    if (fault === null) return null;
    return hit(EVIDENCE[fault], fault === 'expired' ? 'expired' : undefined);
  },
};
