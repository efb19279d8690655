import { isPayingStep } from '../event-outcome.ts';
import { describeSuccesses, scaleBySuccesses } from './support/address-outcomes.ts';
import { scaledHit, withThresholds } from './rule.ts';

/**
 * Fires on a payment or checkout when 10 or more cold-start ones came from its address in 1 h: stolen cards are being tested. A cold-start
 * payment or checkout opens its session with entities that were not seen on that network before.
 *
 * Quiet while fewer than 70 % of the address's sessions in this hour are cold starts, as in an office or behind a carrier's gateway. Quiet
 * without a public address. Weighs 60 % less if payments or logins at the address are known to succeed, as at a call centre.
 * Source of numbers and weight: the default rules.
 */
export const velocityIpPayments1h = withThresholds({
  code: 'velocity_ip_payments_1h',
  family: 'ip_volume',
  weights: { default: 0.55 },
  thresholds: { payments: 10, coldShare: 0.7 },
  hint: 'many unknown payers pay from the IP address',
  quietedBy: 'under 70 % are cold',
  evaluate({ eventType, history }, _policy, { payments, coldShare }) {
    const ip = history?.ip ?? null;
    if (ip === null || !isPayingStep(eventType)) return null;
    if (!(ip.coldPayments1h >= payments) || !(ip.coldShare1h >= coldShare)) return null;
    const evidence = `${ip.coldPayments1h} cold payments from the address in 1 h (${payments} or more)`;
    return scaledHit(evidence, scaleBySuccesses(ip), describeSuccesses(ip));
  },
});
