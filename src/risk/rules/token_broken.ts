import { hit, type Rule } from './rule.ts';

/**
 * Fires when the session token begins with `st1.` or `st2.`, as those of the collector do, and cannot be read: it was cut off, or somebody
 * wrote it who has no grant. Weighs as much as a token that was made in another network, since a broken token must not be worth more than a
 * forged one and an integration that truncates tokens must not lose its customers. Quiet for the customer's own session ids.
 * Choice of the weight: that of `token_unbound`.
 */
export const tokenBroken: Rule = {
  code: 'token_broken',
  family: 'token',
  weights: { default: 0.1 },
  hint: 'the session token begins like one of the collector and cannot be read',
  quietedBy: "the customer's own session ids; tokens that can be read",
  evaluate: ({ token }) =>
    token.kind === 'opaque' && token.isBroken ? hit('the text begins like a collector token and does not parse') : null,
};
