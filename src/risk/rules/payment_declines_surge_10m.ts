import { isPayingStep } from '../event-outcome.ts';
import { hit, withThresholds } from './rule.ts';
import { describeSurge, isUnknownActor, surgeScore } from './support/surge.ts';

/**
 * Fires on a payment or checkout of an unknown account while payments are declined on 6 or more of the customer's networks in 10 min, more
 * than 4 deviations above what is usual at this hour, and over half of all payments are declined: stolen cards are tested from many
 * addresses.
 *
 * An account is unknown if it was never seen, or if both network and agent are new to it; guests count as unknown. Quiet for all other
 * accounts, and without reported outcomes. Source of numbers, formula and weight: the default rules.
 */
export const paymentDeclinesSurge10m = withThresholds({
  code: 'payment_declines_surge_10m',
  family: 'population',
  weights: { default: 0.45 },
  thresholds: { networks: 6, deviations: 4, declineShare: 0.5 },
  hint: 'far more payments are declined than usual, on many networks at once',
  quietedBy: 'the account was seen before, on that network or with that agent; no outcomes are reported',
  evaluate({ eventType, history }, _policy, { networks, deviations, declineShare }) {
    const surge = history?.surge ?? null;
    if (history === null || surge === null || !isPayingStep(eventType)) return null;
    if (!(surge.networks10m >= networks) || !(surge.badShare10m > declineShare)) return null;
    if (!(surgeScore(surge) > deviations) || !isUnknownActor(history)) return null;
    return hit(describeSurge(surge, 'declined payments', networks));
  },
});
