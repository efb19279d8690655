import { hit, withThresholds } from '../rule.ts';

/**
 * Fires on a sign-up when over 3 came from its address in 24 h, and weighs more when over 6 did. Sign-ups are cold by nature,
 * so all count. Quiet without a public address. Source of numbers and weights: the default rules; the first level is low, since
 * a household, a school or a carrier's gateway can reach it. `signupsMany` counts only beyond `signups`.
 */
export const velocityIpSignups24h = withThresholds({
  code: 'velocity_ip_signups_24h',
  family: 'ip_volume',
  weights: { default: 0.25, many: 0.6 },
  thresholds: { signups: 3, signupsMany: 6 },
  hint: 'many accounts are opened from the IP address',
  evaluate({ eventType, history }, _policy, { signups, signupsMany }) {
    const ip = history?.ip ?? null;
    if (ip === null || eventType !== 'signup') return null;
    const count = ip.signups24h;
    if (!(count > signups)) return null;
    const isMany = count > signupsMany;
    const over = isMany ? signupsMany : signups;
    return hit(`${count} sign-ups from the address in 24 h (over ${over})`, isMany ? 'many' : undefined);
  },
});
