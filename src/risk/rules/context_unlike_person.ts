import { describeContext, newPartsOf } from './support/account-context.ts';
import { isContextStep } from '../context-steps.ts';
import { hit, withThresholds } from './rule.ts';

/** Choice: without outcomes the account's first session may have been a thief's. */
const SESSIONS_MIN = 2;

/**
 * Fires on a login, checkout or payment in a context that is not the account's: device, network and location are all new to it, and the
 * combination of agent and location is over 100 times (`ratio`, a logarithm) as likely for any of the customer's accounts as for this one.
 * In a country that is new to the account, over 6 times (`countryRatio`) is enough, once the customer reports outcomes or the account had
 * two sessions.
 *
 * Quiet on a known device (the collector's fingerprint, without one the user agent), on a known network and at a known location, and until
 * 30 min after the account's first session. A failed login makes nothing known; a passed challenge does.
 * Source of numbers, formula and weight: the default rules, after Freeman et al., "Who are you?", NDSS 2016.
 */
export const contextUnlikePerson = withThresholds({
  code: 'context_unlike_person',
  family: 'movement',
  weights: { default: 0.5 },
  thresholds: { ratio: 2, countryRatio: 0.8 },
  hint: 'device, network and location are all unusual for the account',
  quietedBy:
    "a known device, network or location; the account's first 30 min; for the country: an account with one session if no outcomes are reported",
  evaluate({ eventType, history }, _policy, { ratio, countryRatio }) {
    const context = history?.context ?? null;
    if (context === null || !isContextStep(eventType)) return null;
    const isSettled = context.sessions >= SESSIONS_MIN || (history?.surge ?? null) !== null;
    const over = context.country === 'new' && isSettled ? Math.min(ratio, countryRatio) : ratio;
    if (!(context.ratio > over) || newPartsOf(context).length < 3) return null;
    return hit(describeContext(context, over));
  },
});
