import { isReturnedTo } from '../crowds.ts';
import { isCodeStep } from '../guess-steps.ts';
import { deviationsAbove } from '../surge.ts';
import { hit, withThresholds } from '../rule.ts';

/** Source: the default rules: on the first day everybody is a stranger. */
const DAY_SECONDS = 86_400;

/**
 * Fires on a login of an account never seen, and on an event that asks for a password, a code or a coupon for one, while such events come
 * from 9 or more of the customer's networks in 10 min and more than 4.5 deviations above what is usual at this hour: stuffing that is
 * spread over many addresses.
 *
 * Quiet for accounts that were seen before; at an address with two or more strangers in 24 h where under 90 % of logins are theirs, as
 * behind a carrier's gateway; in a customer's first day; and while at most half of the logins whose outcome is known fail. Networks count
 * and not logins: an office, a class or a call centre behind one address is one. Not for checkouts, since whoever comes by a mail campaign
 * is a stranger there.
 * Source of numbers, formula and weight: the default rules; both shares are our own.
 */
export const strangersSurge10m = withThresholds({
  code: 'strangers_surge_10m',
  family: 'population',
  weights: { default: 0.5 },
  thresholds: { networks: 9, deviations: 4.5, badShare: 0.5, strangerShare: 0.9 },
  hint: 'far more unknown accounts log in than usual, from many networks at once',
  evaluate({ eventType, history }, _policy, { networks, deviations, badShare, strangerShare }) {
    const crowd = history?.crowd ?? null;
    const surge = crowd?.surge ?? null;
    if (history === null || crowd === null || surge === null || !(eventType === 'login' || isCodeStep(eventType)))
      return null;
    if (isReturnedTo(crowd, strangerShare)) return null;
    // Where outcomes are reported, strangers who get in are buyers of a sale.
    if (history.surge !== null && !(history.surge.badShare10m > badShare)) return null;
    if (crowd.customerAgeSeconds < DAY_SECONDS || !(surge.networks >= networks)) return null;
    if (!(deviationsAbove(surge.networks, surge.usual) > deviations)) return null;
    return hit(
      `${eventType === 'login' ? 'logins' : `"${eventType}" events`} of accounts never seen, from ${surge.networks} networks in 10 min (${networks} or more; usually ${surge.usual.toFixed(1)})`,
    );
  },
});
