import { describeSuccesses, scaleByLogins } from './support/address-outcomes.ts';
import { scaledHit, withThresholds } from './rule.ts';

/** Source: the default rules. */
const ACCOUNT_STEPS: ReadonlySet<string> = new Set(['login', 'signup', 'payment', 'checkout']);

/**
 * Fires on a login, sign-up, payment or checkout when over 10 distinct entities of one key name made cold-start events from its address in
 * 1 h. A cold-start event opens its session with entities that were not seen on that network before.
 *
 * Quiet while fewer than 70 % of the address's sessions in this hour are cold starts, as in an office or behind a carrier's gateway. Quiet
 * without a public address. Weighs 60 % less if logins at the address are known to succeed (`address-outcomes.ts`). Source of numbers and
 * weight: the default rules.
 */
export const velocityIpEntities1h = withThresholds({
  code: 'velocity_ip_entities_1h',
  family: 'ip_volume',
  weights: { default: 0.35 },
  thresholds: { entities: 10, coldShare: 0.7 },
  hint: 'many unknown accounts are used from the IP address',
  quietedBy: 'under 70 % are cold; 60 % less weight if logins succeed',
  evaluate({ eventType, history }, _policy, { entities, coldShare }) {
    const ip = history?.ip ?? null;
    if (ip === null || !ACCOUNT_STEPS.has(eventType)) return null;
    if (!(ip.coldEntities1h > entities) || !(ip.coldShare1h >= coldShare)) return null;
    const evidence = `${ip.coldEntities1h} cold entities from the address in 1 h (over ${entities})`;
    return scaledHit(evidence, scaleByLogins(ip), describeSuccesses(ip));
  },
});
