import { hit, withThresholds } from '../rule.ts';

/**
 * Fires when one session made 5 or more payments in 1 h, as when stolen cards are tried out one by one.
 * Weighs half where outcomes are reported, at most a quarter of the session's payments in that hour were declined, and at least half of those
 * before the present one succeeded: somebody buys several gifts.
 * Source of number and weight: the default rules; a shopper whose card is declined tries three or four times.
 */
export const velocitySessionPayments1h = withThresholds({
  code: 'velocity_session_payments_1h',
  family: 'session_volume',
  weights: { default: 0.5, paid: 0.25 },
  thresholds: { payments: 5 },
  hint: 'the session makes many payments',
  evaluate({ history }, _policy, { payments }) {
    if (history === null || !(history.session.payments1h >= payments)) return null;
    const { payments1h, paid1h, declined1h } = history.session;
    const evidence = `${payments1h} payments in 1 h (${payments} or more)`;
    const isPaid = paid1h > 0 && paid1h * 2 >= payments1h - 1 && declined1h * 3 <= paid1h;
    return isPaid ? hit(`${evidence}; ${paid1h} succeeded, ${declined1h} declined`, 'paid') : hit(evidence);
  },
});
