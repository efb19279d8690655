import { hit, type Rule } from './rule.ts';

/**
 * Fires when an `ip` is given and cannot be parsed; everything derived from it is then unavailable. Quiet without one.
 * Source: contract, 4.2; the weight: the default rules.
 */
export const ipInvalid: Rule = {
  code: 'ip_invalid',
  family: 'network',
  weights: { default: 0.1 },
  hint: 'the IP address is malformed',
  quietedBy: 'ip is absent',
  evaluate: ({ ip }) => (ip?.kind === 'invalid' ? hit('ip does not parse') : null),
};
