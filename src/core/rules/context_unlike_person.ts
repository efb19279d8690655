import { describeContext, newPartsOf } from '../account-context.ts';
import { isContextStep } from '../context-steps.ts';
import { hit, withThresholds } from '../rule.ts';

/**
 * Fires on a login, checkout or payment in a context that is not the account's: device, network and place are all new to it, and
 * agent and place are over 30 times (`ratio`, a logarithm) as likely for anybody of the customer's as for this account.
 *
 * Quiet on a known device (the collector's fingerprint, without one the user agent), on a known network and at a known place, and
 * until 30 min after the account's first session. What a failed login brought is not known, a challenge that was passed makes it so.
 * Source of numbers, formula and weight: the default rules, after Freeman et al., "Who are you?", NDSS 2016.
 */
export const contextUnlikePerson = withThresholds({
  code: 'context_unlike_person',
  family: 'movement',
  weights: { default: 0.5 },
  thresholds: { ratio: 1.5 },
  hint: 'device, network and place are all unlike the account',
  evaluate({ eventType, history }, _policy, { ratio }) {
    const context = history?.context ?? null;
    if (context === null || !(context.ratio > ratio) || !isContextStep(eventType)) return null;
    return newPartsOf(context).length === 3 ? hit(describeContext(context, ratio)) : null;
  },
});
