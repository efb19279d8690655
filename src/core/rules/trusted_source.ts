import type { Rule } from '../rule.ts';

/**
 * Fires, with the source's name, on a request from a network or by a user agent that the policy trusts: it says why the rules of
 * the families client, tls and the volumes were not asked. Fired by the engine, because it depends on who asks: for requests of
 * public keys it is quiet, since anybody can sign one with any address and agent. Choice: it weighs nothing; trust takes rules
 * back and never speaks for a request.
 */
export const trustedSource: Rule = {
  code: 'trusted_source',
  family: 'network',
  weights: { default: 0 },
  hint: 'the policy trusts the network or user agent',
  evaluate: () => null,
};
