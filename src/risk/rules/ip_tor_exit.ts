import { hit, type Rule } from './rule.ts';

/**
 * Fires when the anonymiser database flags the address as a Tor exit. Quiet without that database.
 * Source of the weight: the default rules.
 */
export const ipTorExit: Rule = {
  code: 'ip_tor_exit',
  family: 'network',
  weights: { default: 0.5 },
  hint: 'the IP address is a Tor exit',
  quietedBy: 'no such database',
  evaluate: ({ geo }) => (geo?.tor === true ? hit('Tor exit') : null),
};
