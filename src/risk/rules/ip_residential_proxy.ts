import { hit, type Rule } from './rule.ts';

/**
 * Fires when the anonymiser database flags the address as a residential proxy. Quiet without that database.
 * Source of the weight: the default rules.
 */
export const ipResidentialProxy: Rule = {
  code: 'ip_residential_proxy',
  family: 'network',
  weights: { default: 0.35 },
  hint: 'the IP address is a residential proxy',
  quietedBy: 'no such database',
  evaluate: ({ geo }) => (geo?.residentialProxy === true ? hit('residential proxy') : null),
};
