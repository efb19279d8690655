import type { Rule } from './rule.ts';

/**
 * Fires, with the source's name, on a request from a network or by a user agent that the policy trusts. It explains why the rules of the
 * families client, tls and the volumes were skipped. The engine fires it, because it depends on the API key: it is quiet for requests of
 * public keys, since anybody can send one with any address and agent. Choice: it weighs nothing; trust removes evidence and never adds any
 * in favour of a request.
 */
export const trustedSource: Rule = {
  code: 'trusted_source',
  family: 'network',
  weights: { default: 0 },
  hint: 'the policy trusts the network or user agent',
  quietedBy: 'public keys',
  evaluate: () => null,
};
