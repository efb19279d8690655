import type { Rule } from './rule.ts';

/**
 * Fires when the user agent names a crawler and the request proves that it is the one. It explains why the rules of the families
 * client, tls and the volumes were skipped, as for a trusted source. The engine fires it, because it depends on the API key: it is quiet
 * for requests of public keys, since anybody can send one with any address and agent. Choice: it weighs nothing; a proof removes evidence
 * and never adds any in favour of a request.
 */
export const agentVerified: Rule = {
  code: 'agent_verified',
  family: 'network',
  weights: { default: 0 },
  hint: 'the crawler is the one that it names',
  quietedBy: 'public keys',
  evaluate: () => null,
};
