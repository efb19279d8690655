import { isNewOnNetwork, type NetworkColdLogins } from '../crowds.ts';
import { type Hit, hit, withThresholds } from './rule.ts';
import { deviationsAbove } from './support/surge.ts';

/**
 * Fires on a login when over 20 cold-start logins came from its network (/24, /48) in 1 h, from 5 or more of its addresses, and these are
 * at least 90 % of the network's logins and more than 3 deviations above what the customer's usual share of cold-start logins predicts:
 * credential stuffing that rotates within a rented network. If outcomes are reported, over 10 failed logins in 1 h that are over 80 % of
 * the known outcomes replace the number of cold-start logins and the comparison with the usual share: some shops see little but cold-start
 * logins.
 *
 * Quiet for an account that was seen on that network before; in networks to which other accounts return, such as a carrier's or a
 * university's; on a customer's first day, unless logins fail. Source of numbers and weight: the default rules; shares, deviations and
 * failures are our own.
 */
export const coldLoginsNetwork1h = withThresholds({
  code: 'cold_logins_network_1h',
  family: 'ip_volume',
  weights: { default: 0.55 },
  thresholds: { logins: 20, addresses: 5, coldShare: 0.9, deviations: 3, failures: 10, failureShare: 0.8 },
  hint: 'many unknown accounts log in from neighbouring IP addresses',
  quietedBy:
    "the account was on that network before; cold logins are usual; the customer's first day (the last two only if the logins do not fail)",
  evaluate({ eventType, history }, _policy, thresholds) {
    const network = history?.crowd?.network ?? null;
    if (history === null || network === null || eventType !== 'login') return null;
    const { cold1h, logins1h, addresses1h } = network;
    if (!(addresses1h >= thresholds.addresses) || !(cold1h >= thresholds.coldShare * logins1h)) return null;
    if (!isNewOnNetwork(history)) return null;
    return failureHit(network, thresholds) ?? surplusHit(network, thresholds);
  },
});

function failureHit(
  { failed1h, succeeded1h, addresses1h }: NetworkColdLogins,
  { failures, failureShare }: { readonly failures: number; readonly failureShare: number },
): Hit | null {
  const known = failed1h + succeeded1h;
  if (!(failed1h > failures) || !(failed1h > failureShare * known)) return null;
  return hit(
    `${failed1h} of ${known} logins from ${addresses1h} addresses of the network failed in 1 h (over ${failures})`,
  );
}

function surplusHit(
  { cold1h, logins1h, addresses1h, usualShare }: NetworkColdLogins,
  { logins, deviations }: { readonly logins: number; readonly deviations: number },
): Hit | null {
  if (!(cold1h > logins) || !(deviationsAbove(cold1h, usualShare * logins1h) > deviations)) return null;
  return hit(
    `${cold1h} cold logins from ${addresses1h} addresses of the network in 1 h (over ${logins}; usually ${Math.round(usualShare * 100)} % are cold)`,
  );
}
