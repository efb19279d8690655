import { isReturnedTo } from '../crowds.ts';
import { scaledHit, withThresholds } from './rule.ts';
import { describePace, describeSurge, isUnknownActor, scaleByPace, surgeScore } from './support/surge.ts';

/**
 * Fires on a login of an unknown account while logins fail on 6 or more of the customer's networks in 10 min, more than 4 deviations above
 * what is usual at this hour, and over half of all logins fail: credential stuffing spread over many addresses.
 *
 * An account is unknown if it was never seen, or if both network and agent are new to it. Quiet for all other accounts; at an address where
 * over a tenth of the accounts in 24 h return; and without reported outcomes. Weighs 60 % less in a session that began over 20 s before,
 * unless most of the surge are such sessions (`surge.ts`). An account's successful logins count once a day among all logins. Source of
 * numbers, formula and weight: the default rules. Counts networks and not logins, so that an office counts once.
 */
export const loginFailuresSurge10m = withThresholds({
  code: 'login_failures_surge_10m',
  family: 'population',
  weights: { default: 0.5 },
  thresholds: { networks: 6, deviations: 4, failureShare: 0.5, strangerShare: 0.9 },
  hint: 'far more logins fail than usual, on many networks at once',
  quietedBy:
    'the account was seen before, on that network or with that agent; an address where over a tenth of the accounts return; no outcomes are reported; 60 % less weight: the session began over 20 s before, unless most of the surge are such sessions',
  evaluate({ eventType, history }, _policy, { networks, deviations, failureShare, strangerShare }) {
    const surge = history?.surge ?? null;
    if (history === null || surge === null || eventType !== 'login') return null;
    if (history.crowd !== null && isReturnedTo(history.crowd, strangerShare)) return null;
    if (!(surge.networks10m >= networks) || !(surge.badShare10m > failureShare)) return null;
    if (!(surgeScore(surge) > deviations) || !isUnknownActor(history)) return null;
    const scale = scaleByPace(history, { networks, deviations });
    return scaledHit(describeSurge(surge, 'failed logins', networks), scale, describePace(history));
  },
});
