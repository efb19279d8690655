import { describeContext, newPartsOf } from './support/account-context.ts';
import { isValueStep } from '../context-steps.ts';
import { hit, withThresholds } from './rule.ts';

/**
 * Fires on a checkout, a payment or a change of e-mail or address later in a session whose context does not resemble the account: two or
 * three of device, network and location are new, and the combination of agent and location is over 30 times (`ratio`, a logarithm) as
 * likely for any account as for this one. It belongs to another family than the context rules (the path to the purchase), so that its
 * weight is added to theirs.
 *
 * Quiet on the first event of a session, and on a known device. Source of number and weight: the default rules. Choice: the threshold is
 * higher than the .8 of `context_partly_unlike`, because in the first days of an account two people who share it reach that.
 */
export const contextThenValue = withThresholds({
  code: 'context_then_value',
  family: 'journey',
  weights: { default: 0.25 },
  thresholds: { ratio: 1.5 },
  hint: 'a session that is unusual for the account pays, or changes the e-mail or the address',
  quietedBy: "the session's first event; a known device",
  evaluate({ eventType, history }, _policy, { ratio }) {
    const context = history?.context ?? null;
    if (history === null || context === null || !(context.ratio > ratio) || history.session.isFirstEvent) return null;
    if (newPartsOf(context).length < 2 || !isValueStep(eventType)) return null;
    return hit(describeContext(context, ratio));
  },
});
