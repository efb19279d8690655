import { hit, type Rule } from './rule.ts';

/**
 * Fires when the anonymiser database flags the address as a proxy. Quiet without that database.
 * Source of the weight: the default rules.
 */
export const ipProxy: Rule = {
  code: 'ip_proxy',
  family: 'network',
  weights: { default: 0.4 },
  hint: 'the IP address is an open or public proxy',
  quietedBy: 'no such database',
  evaluate: ({ geo }) => (geo?.proxy === true ? hit('proxy') : null),
};
