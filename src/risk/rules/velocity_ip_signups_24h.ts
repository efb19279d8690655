import { describeSuccesses, scaleOfSignups } from './support/address-outcomes.ts';
import type { NetworkSignups } from '../crowds.ts';
import { type Hit, hit, scaledHit, withThresholds } from './rule.ts';

/**
 * Fires on a sign-up when over 3 came from its address in 24 h, and weighs more when over 6 did. Sign-ups are cold starts by nature, so all
 * count. Weighs 60 % less if a quarter as many accounts again log in there as are opened, as on a shop's tablet, or if 3 orders
 * were paid in 1 h. Quiet without a public address.
 *
 * Level `network`: over 12 came from 5 or more addresses of its network (/24, /48) in 1 h, and over a quarter of the number of networks
 * with sign-ups at the customer in that hour: a rented network that a farm rotates in, rather than a carrier's.
 * Level `many` starts at 36 sign-ups for a session that began over 12 s before its sign-up: a class or a family that fills in a form by
 * hand. Choice: the largest class; a form filled in by a password manager takes less time.
 *
 * Source of the other numbers and weights: the default rules. The default weight is low, since a household, a school or a carrier's gateway
 * can reach it. `signupsMany` counts only if it exceeds `signups`.
 */
export const velocityIpSignups24h = withThresholds({
  code: 'velocity_ip_signups_24h',
  family: 'ip_volume',
  weights: { default: 0.25, many: 0.6, network: 0.5 },
  thresholds: {
    signups: 3,
    signupsMany: 6,
    networkSignups: 12,
    networkAddresses: 5,
    networkShare: 0.25,
    byHandSeconds: 12,
    byHandSignups: 35,
  },
  hint: 'many accounts are opened from the IP address',
  quietedBy:
    '60 % less weight: a quarter as many accounts again log in at the address as are opened there, or 3 orders were paid',
  evaluate({ eventType, history }, _policy, thresholds) {
    const ip = history?.ip ?? null;
    if (ip === null || eventType !== 'signup') return null;
    const { signups, signupsMany, byHandSeconds, byHandSignups } = thresholds;
    const count = ip.signups24h;
    const isByHand = (history?.session.ageMs ?? 0) > byHandSeconds * 1_000;
    const isMany = count > (isByHand ? Math.max(byHandSignups, signupsMany) : signupsMany);
    const network = isMany ? null : networkHit(history?.crowd?.signups ?? null, thresholds);
    if (network !== null) return network;
    if (!(count > signups)) return null;
    const over = isMany ? signupsMany : signups;
    const evidence = `${count} sign-ups from the address in 24 h (over ${over})`;
    const found = scaledHit(evidence, scaleOfSignups(ip), describeSuccesses(ip));
    return isMany ? { ...found, level: 'many' } : found;
  },
});

interface NetworkThresholds {
  readonly networkSignups: number;
  readonly networkAddresses: number;
  readonly networkShare: number;
}

function networkHit(
  network: NetworkSignups | null,
  { networkSignups, networkAddresses, networkShare }: NetworkThresholds,
): Hit | null {
  if (network === null || !(network.signups1h > networkSignups)) return null;
  if (!(network.addresses1h >= networkAddresses) || !(network.signups1h > networkShare * network.networks1h))
    return null;
  return hit(
    `${network.signups1h} sign-ups from ${network.addresses1h} addresses of the network in 1 h (over ${networkSignups})`,
    'network',
  );
}
