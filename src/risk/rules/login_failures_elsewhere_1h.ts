import { deviceOf } from './support/account-context.ts';
import { entityName, hit, withThresholds } from './rule.ts';

/**
 * Fires on a login when over 4 logins of the account failed in 1 h and this one comes from a device (without a collector: with a user
 * agent) and a network that are both new to it: for example, a thief has the password and repeatedly triggers the confirmation that only
 * the owner can give.
 *
 * Quiet for accounts without a known session, and on a device or network where a login of the account succeeded. Quiet without reported
 * outcomes.
 * Choice of number and weight: half as many failures as for `login_failures_entity_1h`, on a device and network that are twice as unlikely
 * to be the owner's.
 */
export const loginFailuresElsewhere1h = withThresholds({
  code: 'login_failures_elsewhere_1h',
  family: 'entity_volume',
  weights: { default: 0.5 },
  thresholds: { failures: 4 },
  hint: 'logins of the account fail from a device and a network that it never used',
  quietedBy: 'an account without a known session; no outcomes are reported',
  evaluate({ eventType, history }, _policy, { failures }) {
    const context = history?.context ?? null;
    if (history === null || context === null || eventType !== 'login') return null;
    if (context.network !== 'new' || deviceOf(context) !== 'new') return null;
    for (const entity of history.entities) {
      if (!(entity.loginsFailed1h > failures) || entity.hasSucceededHere) continue;
      return hit(
        `${entityName(entity)}: ${entity.loginsFailed1h} failed logins in 1 h (over ${failures}), on a device and a network new to it`,
      );
    }
    return null;
  },
});
