import { isVerified } from '../signals/claimed-agent.ts';
import { hit, type Rule } from './rule.ts';
import { describeNetwork } from './ip_watched_asn.ts';
import { isRelay } from './ip_relay.ts';

/**
 * Fires when the anonymiser database flags the address as hosting, or its autonomous system is on the policy's list of hosting companies:
 * shoppers do not browse from data centres. Quiet for private relays and satellite networks, whose users appear to, and for verified
 * crawlers. Source of the weight: the default rules.
 */
export const ipHosting: Rule = {
  code: 'ip_hosting',
  family: 'network',
  weights: { default: 0.3 },
  hint: 'the IP address belongs to a hosting company',
  quietedBy: 'relays and satellite networks, verified crawlers',
  evaluate(facts, policy) {
    const { geo } = facts;
    if (geo === null || isRelay(facts, policy) || isVerified(facts.agentProof)) return null;
    const listed = geo.asn !== null && policy.hostingAsns.has(geo.asn);
    return geo.hosting || listed ? hit(describeNetwork(geo)) : null;
  },
};
