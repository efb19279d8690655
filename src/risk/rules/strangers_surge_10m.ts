import { isReturnedTo } from '../crowds.ts';
import { isCodeStep } from '../guess-steps.ts';
import { describePace, deviationsAbove, scaleByPace } from './support/surge.ts';
import { scaledHit, withThresholds } from './rule.ts';

/** Source: the default rules: on the first day every account is unknown. */
const DAY_SECONDS = 86_400;

/**
 * Fires on a login of an unknown account, and on an event that asks for a password, a code or a coupon for one, while such events come from
 * 9 or more of the customer's networks in 10 min and more than 4.5 deviations above what is usual at this hour: credential stuffing spread
 * over many addresses. An account is unknown if it was never seen.
 *
 * Quiet for known accounts; at an address with two or more logins of unknown accounts in 24 h where over a tenth of the accounts return, as
 * behind a carrier's gateway; in a customer's first day; and while at most half of the known login outcomes are failures. Counts networks
 * and not logins, so that an office, a class or a call centre behind one address counts once. Excludes checkouts, where visitors from a
 * mail campaign are unknown too.
 * Weighs 60 % less in a session that began over 20 s before, unless most of the surge are such sessions (`surge.ts`).
 * Source of numbers, formula and weight: the default rules; both shares are our own.
 */
export const strangersSurge10m = withThresholds({
  code: 'strangers_surge_10m',
  family: 'population',
  weights: { default: 0.5 },
  thresholds: { networks: 9, deviations: 4.5, badShare: 0.5, strangerShare: 0.9 },
  hint: 'far more unknown accounts log in than usual, from many networks at once',
  quietedBy:
    "the account was seen before; the customer's first day; one address, however many log in there, and an address where over a tenth of the accounts return; most logins with an outcome succeed; 60 % less weight: the session began over 20 s before, unless most of the surge are such sessions",
  evaluate({ eventType, history }, _policy, { networks, deviations, badShare, strangerShare }) {
    const crowd = history?.crowd ?? null;
    const surge = crowd?.surge ?? null;
    if (history === null || crowd === null || surge === null || !(eventType === 'login' || isCodeStep(eventType)))
      return null;
    if (isReturnedTo(crowd, strangerShare)) return null;
    // If outcomes are reported, unknown accounts that log in successfully are buyers in a sale.
    if (history.surge !== null && !(history.surge.badShare10m > badShare)) return null;
    if (crowd.customerAgeSeconds < DAY_SECONDS || !(surge.networks >= networks)) return null;
    if (!(deviationsAbove(surge.networks, surge.usual) > deviations)) return null;
    return scaledHit(
      `${eventType === 'login' ? 'logins' : `"${eventType}" events`} of unknown identities, from ${surge.networks} networks in 10 min (${networks} or more; usually ${surge.usual.toFixed(1)})`,
      scaleByPace(history, { networks, deviations }),
      describePace(history),
    );
  },
});
