import { hit, type Rule } from '../rule.ts';

/**
 * Fires when an `ip` is given and does not parse; everything that derives from it is off then. Quiet without one.
 * Source: open points, section 2; the weight: the default rules.
 */
export const ipInvalid: Rule = {
  code: 'ip_invalid',
  family: 'network',
  weights: { default: 0.1 },
  hint: 'the IP address is malformed',
  evaluate: ({ ip }) => (ip?.kind === 'invalid' ? hit('ip does not parse') : null),
};
