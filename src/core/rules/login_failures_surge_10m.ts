import { isReturnedTo } from '../crowds.ts';
import { hit, withThresholds } from '../rule.ts';
import { describeSurge, isUnknownActor, surgeScore } from '../surge.ts';

/**
 * Fires on a login of somebody unknown while logins fail on 6 or more of the customer's networks in 10 min, more than 4 deviations above
 * what is usual at this hour, and over half of all logins fail: stuffing that is spread over many addresses.
 *
 * Unknown is an account never seen, or one on a network and an agent that are both new to it. Quiet for everybody else; at an address
 * where over a tenth of logins in 24 h are of accounts that were seen before; and without reported outcomes. Source of numbers, formula
 * and weight: the default rules. Networks count and not logins: an office is one.
 */
export const loginFailuresSurge10m = withThresholds({
  code: 'login_failures_surge_10m',
  family: 'population',
  weights: { default: 0.5 },
  thresholds: { networks: 6, deviations: 4, failureShare: 0.5, strangerShare: 0.9 },
  hint: 'far more logins fail than usual, on many networks at once',
  evaluate({ eventType, history }, _policy, { networks, deviations, failureShare, strangerShare }) {
    const surge = history?.surge ?? null;
    if (history === null || surge === null || eventType !== 'login') return null;
    if (history.crowd !== null && isReturnedTo(history.crowd, strangerShare)) return null;
    if (!(surge.networks10m >= networks) || !(surge.badShare10m > failureShare)) return null;
    if (!(surgeScore(surge) > deviations) || !isUnknownActor(history)) return null;
    return hit(describeSurge(surge, 'failed logins', networks));
  },
});
