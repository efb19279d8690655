import { hit, withThresholds } from './rule.ts';

/**
 * Fires when over 120 decisions came from one address in 60 s, for any entities. Quiet without a public address.
 * Source of number and weight: the default rules; low, since the gateway of a large carrier reaches it when it is busy.
 */
export const velocityIp1m = withThresholds({
  code: 'velocity_ip_1m',
  family: 'ip_volume',
  weights: { default: 0.2 },
  thresholds: { decisions: 120 },
  hint: 'very many requests come from the IP address',
  quietedBy: '',
  evaluate({ history }, _policy, { decisions }) {
    const ip = history?.ip ?? null;
    if (ip === null || !(ip.decisions1m > decisions)) return null;
    return hit(`${ip.decisions1m} decisions from the address in 1 min (over ${decisions})`);
  },
});
