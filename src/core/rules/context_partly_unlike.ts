import { describeContext, newPartsOf } from '../account-context.ts';
import { isContextStep } from '../context-steps.ts';
import { hit, withThresholds } from '../rule.ts';

/**
 * Fires where `context_unlike_person` looks, when two of device, network and place are new and agent and place are over 6 times
 * (`ratio`, a logarithm) as likely for anybody of the customer's as for this account; three count as two. Quiet where the other one is,
 * and for a traveller's own phone, whose ratio ends at .5. Source of numbers, formula and weight: the default rules.
 */
export const contextPartlyUnlike = withThresholds({
  code: 'context_partly_unlike',
  family: 'movement',
  weights: { default: 0.3 },
  thresholds: { ratio: 0.8 },
  hint: 'device, network or place are unlike the account',
  evaluate({ eventType, history }, _policy, { ratio }) {
    const context = history?.context ?? null;
    if (context === null || !(context.ratio > ratio) || !isContextStep(eventType)) return null;
    return newPartsOf(context).length >= 2 ? hit(describeContext(context, ratio)) : null;
  },
});
