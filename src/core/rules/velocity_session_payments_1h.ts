import { hit, withThresholds } from '../rule.ts';

/**
 * Fires when one session made 5 or more payments in 1 h, as when stolen cards are tried out one by one. Nothing keeps it quiet.
 * Source of number and weight: the default rules; a shopper whose card is declined tries three or four times.
 */
export const velocitySessionPayments1h = withThresholds({
  code: 'velocity_session_payments_1h',
  family: 'session_volume',
  weights: { default: 0.5 },
  thresholds: { payments: 5 },
  hint: 'the session makes many payments',
  evaluate({ history }, _policy, { payments }) {
    if (history === null || !(history.session.payments1h >= payments)) return null;
    return hit(`${history.session.payments1h} payments in 1 h (${payments} or more)`);
  },
});
