import { entityName, hit, withThresholds } from './rule.ts';
import { isGiftBuyer } from './support/gift-buyer.ts';

/** Choice: one in three gift buyers has a second card; one card that is tried again and again is a card whose code is being guessed. */
const CARDS_MAX = 2;
const PAYMENTS_PER_THRESHOLD = 2;

/**
 * Fires on a payment when its session made 5 or more in 1 h: stolen cards are tested one by one. Weighs half (level `paid`) in three cases:
 * - under 10 payments name at most two payment cards or accounts;
 * - under 20 are of one account that has been known for a week, with at most two cards (`gift-buyer.ts`);
 * - outcomes are reported, at most a quarter of the session's payments in that hour were declined, and at least half of those before the
 *   present one succeeded, because somebody buys several gifts.
 *
 * Source of number and weight: the default rules; a shopper whose card is declined tries three or four times.
 */
export const velocitySessionPayments1h = withThresholds({
  code: 'velocity_session_payments_1h',
  family: 'session_volume',
  weights: { default: 0.5, paid: 0.25 },
  thresholds: { payments: 5 },
  hint: 'the session makes many payments',
  quietedBy: '',
  evaluate({ eventType, history }, _policy, { payments }) {
    // Only a payment names its card: the pages between two gifts look like an unknown card.
    if (history === null || eventType !== 'payment' || !(history.session.payments1h >= payments)) return null;
    const { payments1h, paid1h, declined1h } = history.session;
    const evidence = `${payments1h} payments in 1 h (${payments} or more)`;
    const { values } = history;
    if (values !== null && values.ofActor24h <= CARDS_MAX && payments1h < PAYMENTS_PER_THRESHOLD * payments)
      return hit(`${evidence} with ${values.ofActor24h} of ${entityName(values)}`, 'paid');
    if (values !== null && isGiftBuyer(history))
      return hit(`${evidence} of one account with ${values.ofActor24h} of ${entityName(values)}`, 'paid');
    const isPaid = paid1h > 0 && paid1h * 2 >= payments1h - 1 && declined1h * 3 <= paid1h;
    return isPaid ? hit(`${evidence}; ${paid1h} succeeded, ${declined1h} declined`, 'paid') : hit(evidence);
  },
});
