import { hit, type Rule } from './rule.ts';

/**
 * Fires when the address is private, reserved, loopback or the like. No client on the internet has such an address, so the customer passes
 * on a proxy's address, or the client made it up. Source of the weight: the default rules.
 */
export const ipNotPublic: Rule = {
  code: 'ip_not_public',
  family: 'network',
  weights: { default: 0.2 },
  hint: 'the IP address is not a public one',
  quietedBy: '',
  evaluate: ({ ip }) => (ip?.kind === 'valid' && !ip.public ? hit(ip.text) : null),
};
