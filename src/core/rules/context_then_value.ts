import { describeContext, newPartsOf } from '../account-context.ts';
import { isValueStep } from '../context-steps.ts';
import { hit, withThresholds } from '../rule.ts';

/**
 * Fires on a checkout, a payment or a change of e-mail or address later in a session whose context is unlike the account: two or three of
 * device, network and place are new, and agent and place are over 30 times (`ratio`, a logarithm) as likely for anybody as for this
 * account. Of another family than those rules (the way to the purchase), so that it adds to them.
 *
 * Quiet on the first event of a session, and on a known device. Source of number and weight: the default rules. Choice: not from .8 on, as
 * `context_partly_unlike`: on the first days of an account two people who share it have as much.
 */
export const contextThenValue = withThresholds({
  code: 'context_then_value',
  family: 'journey',
  weights: { default: 0.25 },
  thresholds: { ratio: 1.5 },
  hint: 'somebody unlike the account goes on to pay or to change its e-mail or address',
  evaluate({ eventType, history }, _policy, { ratio }) {
    const context = history?.context ?? null;
    if (history === null || context === null || !(context.ratio > ratio) || history.session.isFirstEvent) return null;
    if (newPartsOf(context).length < 2 || !isValueStep(eventType)) return null;
    return hit(describeContext(context, ratio));
  },
});
