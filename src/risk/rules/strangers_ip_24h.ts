import { describeSuccesses, scaleByLogins } from './support/address-outcomes.ts';
import { isNewOnNetwork } from '../crowds.ts';
import { scaledHit, withThresholds } from './rule.ts';
import { deviationsAbove } from './support/surge.ts';

/**
 * Fires on a login when over 24 logins of unknown accounts came from its address in 24 h, and these are at least 90 % of the address's
 * logins and more than 3 deviations above what the customer's usual share of unknown accounts predicts: slow credential stuffing.
 *
 * Quiet for an account that was seen on that network before; if unknown accounts are usual, as for a customer that has only visitors; on a
 * customer's first day, when all accounts are unknown. Weighs 60 % less if logins at the address are known to succeed, as in an office on
 * its first day. Source of
 * share and weight: the default rules; the deviations are our own. Choice: a shop's tablet sees 24 visitors a day.
 */
export const strangersIp24h = withThresholds({
  code: 'strangers_ip_24h',
  family: 'ip_volume',
  weights: { default: 0.5 },
  thresholds: { strangers: 24, strangerShare: 0.9, deviations: 3 },
  hint: 'nearly all logins from the IP address are by unknown accounts',
  quietedBy:
    "the account was on that network before; unknown accounts are usual; the customer's first day; 60 % less weight if logins succeed",
  evaluate({ eventType, history }, _policy, { strangers, strangerShare, deviations }) {
    const address = history?.crowd?.address ?? null;
    if (history === null || history.ip === null || address === null || eventType !== 'login') return null;
    const { strangers24h, logins24h, usualShare } = address;
    if (!(strangers24h > strangers) || !(strangers24h >= strangerShare * logins24h)) return null;
    if (!(deviationsAbove(strangers24h, usualShare * logins24h) > deviations) || !isNewOnNetwork(history)) return null;
    const usual = Math.round(usualShare * 100);
    const evidence = `${strangers24h} of ${logins24h} logins from the address in 24 h were by unknown identities (over ${strangers}; usually ${usual} %)`;
    return scaledHit(evidence, scaleByLogins(history.ip), describeSuccesses(history.ip));
  },
});
