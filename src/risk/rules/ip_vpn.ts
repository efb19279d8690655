import { hit, type Rule } from './rule.ts';
import { isRelay } from './ip_relay.ts';

/**
 * Fires when the anonymiser database flags the address as a VPN. Quiet for private relays and satellite networks.
 * Source of the weight: the default rules; low, since many honest people use one.
 */
export const ipVpn: Rule = {
  code: 'ip_vpn',
  family: 'network',
  weights: { default: 0.2 },
  hint: 'the IP address belongs to a VPN',
  quietedBy: 'relays and satellite networks',
  evaluate: (facts, policy) => (facts.geo?.vpn === true && !isRelay(facts, policy) ? hit('VPN') : null),
};
