import { isNewOnNetwork } from '../crowds.ts';
import { hit, withThresholds } from '../rule.ts';
import { deviationsAbove } from '../surge.ts';

/**
 * Fires on a login when over 20 cold logins came from its network (/24, /48) in 1 h, from 5 or more addresses of it, at least 90 % of the
 * network's logins and more than 3 deviations above what the customer's own share of cold logins lets expect: stuffing that goes round
 * within a rented network.
 *
 * Quiet for an account that was seen on that network before; in networks where others come back, as of a carrier or a university; on a
 * customer's first day. Source of numbers and weight: the default rules; share and deviations are our own.
 */
export const coldLoginsNetwork1h = withThresholds({
  code: 'cold_logins_network_1h',
  family: 'ip_volume',
  weights: { default: 0.55 },
  thresholds: { logins: 20, addresses: 5, coldShare: 0.9, deviations: 3 },
  hint: 'many unknown accounts log in from neighbouring IP addresses',
  evaluate({ eventType, history }, _policy, { logins, addresses, coldShare, deviations }) {
    const network = history?.crowd?.network ?? null;
    if (history === null || network === null || eventType !== 'login') return null;
    const { cold1h, logins1h, addresses1h, usualShare } = network;
    if (!(cold1h > logins) || !(addresses1h >= addresses) || !(cold1h >= coldShare * logins1h)) return null;
    if (!(deviationsAbove(cold1h, usualShare * logins1h) > deviations) || !isNewOnNetwork(history)) return null;
    return hit(
      `${cold1h} cold logins from ${addresses1h} addresses of the network in 1 h (over ${logins}; usually ${Math.round(usualShare * 100)} % are cold)`,
    );
  },
});
