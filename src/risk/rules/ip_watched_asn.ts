import type { GeoFacts } from '../facts.ts';
import { hit, type Rule } from './rule.ts';

/** Fires when the network of the IP is on the policy's own list, which is empty by default. Source of the weight: the default rules. */
export const ipWatchedAsn: Rule = {
  code: 'ip_watched_asn',
  family: 'network',
  weights: { default: 0.25 },
  hint: 'the network of the IP address is on your watch list',
  quietedBy: 'the list is empty, as it is by default',
  evaluate: ({ geo }, { watchedAsns }) =>
    geo !== null && geo.asn !== null && watchedAsns.has(geo.asn) ? hit(describeNetwork(geo)) : null,
};

/** Returns `AS16509 Amazon`, for evidence. Choice: names are truncated at 60 characters. */
export function describeNetwork({ asn, organisation }: GeoFacts): string {
  const name = (organisation ?? '').slice(0, 60);
  return asn === null ? name || 'flagged by the database' : `AS${asn} ${name}`.trim();
}
