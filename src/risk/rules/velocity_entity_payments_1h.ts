import { ownerScale, QUIETED_BY_OWNER } from './support/account-context.ts';
import { entityName, scaledHit, withThresholds } from './rule.ts';
import { GIFTS_MAX, isGiftBuyer } from './support/gift-buyer.ts';
import { mostOf } from './velocity_entity_1m.ts';

/**
 * Fires on a payment when one entity made 10 or more in 1 h; 20 or more if they are of one account that has been known for a week, with at
 * most two cards, in one session (`gift-buyer.ts`). Half weight on a device and a network that the account knows, if the present
 * session made under half of these payments. Customers that sell to machines, by subscription or by the ride must raise the number. Source
 * of number and weight: the default rules.
 */
export const velocityEntityPayments1h = withThresholds({
  code: 'velocity_entity_payments_1h',
  family: 'entity_volume',
  weights: { default: 0.55 },
  thresholds: { payments: 10 },
  hint: 'the account makes many payments',
  quietedBy:
    'ignored keys; up to 19 of an account known for a week with at most two cards in one session; half weight: a device and a network known to the account, in a session with under half of them',
  evaluate({ eventType, history }, _policy, { payments }) {
    if (eventType !== 'payment') return null;
    const entity = mostOf(history?.entities, 'payments1h');
    if (entity === null || !(entity.payments1h >= payments)) return null;
    if (history !== null && entity.payments1h < GIFTS_MAX && isGiftBuyer(history)) return null;
    const isOthersWork =
      history !== null && history.session.payments1h * 2 < entity.payments1h && ownerScale(history) === 0;
    const evidence = `${entityName(entity)}: ${entity.payments1h} payments in 1 h (${payments} or more)`;
    return scaledHit(evidence, isOthersWork ? 0.5 : 1, QUIETED_BY_OWNER);
  },
});
