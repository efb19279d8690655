import type { Facts } from '../facts.ts';
import type { Policy } from '../policy/policy.ts';
import { hit, type Rule } from './rule.ts';
import { describeNetwork } from './ip_watched_asn.ts';

/**
 * Fires when the address belongs to a private relay or a satellite network, by the database or by the policy's list. It weighs nothing and
 * silences `ip_vpn`, `ip_hosting`, the travel rules and `device_timezone_mismatch`: such networks locate honest people far from where they
 * are. Source: the default rules.
 */
export const ipRelay: Rule = {
  code: 'ip_relay',
  family: 'network',
  weights: { default: 0 },
  hint: 'the IP address belongs to a private relay or a satellite network',
  quietedBy: '',
  evaluate: (facts, policy) => (facts.geo !== null && isRelay(facts, policy) ? hit(describeNetwork(facts.geo)) : null),
};

export function isRelay({ geo }: Pick<Facts, 'geo'>, { relayAsns }: Pick<Policy, 'relayAsns'>): boolean {
  return geo !== null && (geo.relay || (geo.asn !== null && relayAsns.has(geo.asn)));
}
