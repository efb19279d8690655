import { describeContext, newPartsOf } from './support/account-context.ts';
import { isContextStep } from '../context-steps.ts';
import { hit, withThresholds } from './rule.ts';

/**
 * Fires on the same events as `context_unlike_person`, when at least two of device, network and location are new and the combination of
 * agent and location is over 6 times (`ratio`, a logarithm) as likely for any of the customer's accounts as for this one. Quiet in the same
 * cases as that rule, and for a traveller's own phone, whose ratio is at most .5. Source of numbers, formula and weight: the default rules.
 */
export const contextPartlyUnlike = withThresholds({
  code: 'context_partly_unlike',
  family: 'movement',
  weights: { default: 0.3 },
  thresholds: { ratio: 0.8 },
  hint: 'device, network or location is unusual for the account',
  quietedBy: "only one of them is new; a known device; the account's first 30 min",
  evaluate({ eventType, history }, _policy, { ratio }) {
    const context = history?.context ?? null;
    if (context === null || !(context.ratio > ratio) || !isContextStep(eventType)) return null;
    return newPartsOf(context).length >= 2 ? hit(describeContext(context, ratio)) : null;
  },
});
