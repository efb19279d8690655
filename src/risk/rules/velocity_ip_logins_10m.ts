import { describeSuccesses, scaleByLogins } from './support/address-outcomes.ts';
import { scaledHit, withThresholds } from './rule.ts';

/**
 * Fires on a login when over 10 cold-start logins came from its address in 10 min: credential stuffing. A cold-start login opens its
 * session with entities that were not seen on that network before.
 *
 * Quiet while fewer than 70 % of the address's sessions in these 10 min are cold starts: in an office or behind a carrier's gateway known
 * people return, and sessions continue that began elsewhere. Quiet without a public address. Weighs 60 % less if logins at the address are
 * known to succeed (`address-outcomes.ts`).
 * Source of numbers and weight: the default rules.
 */
export const velocityIpLogins10m = withThresholds({
  code: 'velocity_ip_logins_10m',
  family: 'ip_volume',
  weights: { default: 0.6 },
  thresholds: { logins: 10, coldShare: 0.7 },
  hint: 'many unknown accounts log in from the IP address',
  quietedBy: 'under 70 % are cold; 60 % less weight if logins succeed',
  evaluate({ eventType, history }, _policy, { logins, coldShare }) {
    const ip = history?.ip ?? null;
    if (ip === null || eventType !== 'login') return null;
    if (!(ip.coldLogins10m > logins) || !(ip.coldShare10m >= coldShare)) return null;
    const evidence = `${ip.coldLogins10m} cold logins from the address in 10 min (over ${logins})`;
    return scaledHit(evidence, scaleByLogins(ip), describeSuccesses(ip));
  },
});
