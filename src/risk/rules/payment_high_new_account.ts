import type { Facts } from '../facts.ts';
import { isPayingStep } from '../event-outcome.ts';
import { hit, withThresholds } from './rule.ts';

const HOUR_SECONDS = 3_600;

/**
 * Fires on a payment or checkout of at least 3.5 times the customer's usual amount (median of its event type and currency) by an account
 * that was created less than 24 h ago: stolen cards buy what can be sold again, with an account made for it.
 *
 * Quiet until 50 amounts are known, and without the attributes `amount` and `account_created_at`. Source of numbers and weight: the default
 * rules. Choice: an account created over an hour after the decision has a date of another unit.
 */
export const paymentHighNewAccount = withThresholds({
  code: 'payment_high_new_account',
  family: 'order',
  weights: { default: 0.45 },
  thresholds: { times: 3.5, accountHoursMax: 24, amounts: 50 },
  hint: 'a new account orders for much more than is usual here',
  quietedBy: 'few amounts are known; attributes amount or account_created_at are not sent',
  evaluate(facts, _policy, { times, accountHoursMax, amounts: amountsMin }) {
    const usual = facts.history?.amounts ?? null;
    if (usual === null || !isPayingStep(facts.eventType) || usual.known < amountsMin) return null;
    const hours = accountHours(facts);
    if (hours === null || hours >= accountHoursMax || usual.value < times * usual.usual) return null;
    const ratio = (usual.value / usual.usual).toFixed(1);
    return hit(`${ratio} times the usual amount (${times} or more), account ${hours.toFixed(1)} h old`);
  },
});

/** Null if the customer does not send when the account was created, or sends a time that is not Unix seconds. */
function accountHours({ attributes, nowSeconds }: Facts): number | null {
  const created = attributes.get('account_created_at');
  if (typeof created !== 'number') return null;
  const hours = (nowSeconds - created) / HOUR_SECONDS;
  return hours < -1 ? null : Math.max(0, hours);
}
