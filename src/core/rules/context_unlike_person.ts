import { describeContext, newPartsOf } from '../account-context.ts';
import { isContextStep } from '../context-steps.ts';
import { hit, withThresholds } from '../rule.ts';

/** Choice: without outcomes the account's first session may have been a thief's. */
const SESSIONS_MIN = 2;

/**
 * Fires on a login, checkout or payment in a context that is not the account's: device, network and place are all new to it, and agent and
 * place are over 100 times (`ratio`, a logarithm) as likely for anybody of the customer's as for this account; in a country that is new to
 * it over 6 times (`countryRatio`), once the customer reports outcomes or the account had two sessions.
 *
 * Quiet on a known device (the collector's fingerprint, without one the user agent), on a known network and at a known place, and until 30
 * min after the account's first session. What a failed login brought is not known, a challenge that was passed makes it so.
 * Source of numbers, formula and weight: the default rules, after Freeman et al., "Who are you?", NDSS 2016.
 */
export const contextUnlikePerson = withThresholds({
  code: 'context_unlike_person',
  family: 'movement',
  weights: { default: 0.5 },
  thresholds: { ratio: 2, countryRatio: 0.8 },
  hint: 'device, network and place are all unlike the account',
  evaluate({ eventType, history }, _policy, { ratio, countryRatio }) {
    const context = history?.context ?? null;
    if (context === null || !isContextStep(eventType)) return null;
    const isSettled = context.sessions >= SESSIONS_MIN || (history?.surge ?? null) !== null;
    const over = context.country === 'new' && isSettled ? Math.min(ratio, countryRatio) : ratio;
    if (!(context.ratio > over) || newPartsOf(context).length < 3) return null;
    return hit(describeContext(context, over));
  },
});
