import { describePace, deviationsAbove, scaleByPace } from './support/surge.ts';
import { scaledHit, withThresholds } from './rule.ts';

/** Source: the default rules: on the first day nothing is usual. */
const DAY_SECONDS = 86_400;

/**
 * Fires on a sign-up while sign-ups come from 14 or more of the customer's networks in 1 h and more than 4.5 deviations above what is usual
 * at this hour: a farm behind many addresses.
 *
 * Quiet in a customer's first day. Counts networks and not sign-ups, so that a class or an office that signs up together counts once.
 * Weighs 60 % less in a session that began over 20 s before, unless most of the surge are such sessions (`surge.ts`).
 * Source of numbers, formula and weight: the default rules.
 */
export const signupSurge1h = withThresholds({
  code: 'signup_surge_1h',
  family: 'population',
  weights: { default: 0.5 },
  thresholds: { networks: 14, deviations: 4.5 },
  hint: 'far more accounts are opened than usual, from many networks at once',
  quietedBy:
    "the customer's first day; one address, however many sign up there; 60 % less weight: the session began over 20 s before, unless most of the surge are such sessions",
  evaluate({ eventType, history }, _policy, { networks, deviations }) {
    const crowd = history?.crowd ?? null;
    const surge = crowd?.surge ?? null;
    if (history === null || crowd === null || surge === null || eventType !== 'signup') return null;
    if (crowd.customerAgeSeconds < DAY_SECONDS || !(surge.networks >= networks)) return null;
    if (!(deviationsAbove(surge.networks, surge.usual) > deviations)) return null;
    return scaledHit(
      `sign-ups from ${surge.networks} networks in 1 h (${networks} or more; usually ${surge.usual.toFixed(1)})`,
      scaleByPace(history, { networks, deviations }),
      describePace(history),
    );
  },
});
