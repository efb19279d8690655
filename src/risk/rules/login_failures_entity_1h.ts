import { isSettledOwner, OWNER_TIMES } from './support/account-context.ts';
import { entityName, hit, withThresholds } from './rule.ts';

/**
 * Fires on a login when over 9 logins of the account failed in 1 h: somebody guesses its password.
 *
 * Quiet for the owner, so that others cannot lock the account: on a device, or on a network with an agent, on which a login of the account
 * succeeded. Requires twice as many failures on a device and a network that an account of at least a day knows, because that is mostly its
 * owner. Quiet without reported outcomes.
 * Source of number and weight: the default rules; people who forgot their password request a new one long before.
 */
export const loginFailuresEntity1h = withThresholds({
  code: 'login_failures_entity_1h',
  family: 'entity_volume',
  weights: { default: 0.55 },
  thresholds: { failures: 9 },
  hint: 'many logins of the account failed',
  quietedBy:
    'a device, or a network with an agent, on which a login of the account succeeded; up to 18 on a device and a network that an account has known for a day; no outcomes are reported',
  evaluate({ eventType, history }, _policy, { failures }) {
    if (history === null || eventType !== 'login') return null;
    const over = isSettledOwner(history) ? OWNER_TIMES * failures : failures;
    for (const entity of history.entities) {
      if (!(entity.loginsFailed1h > over) || entity.hasSucceededHere) continue;
      return hit(`${entityName(entity)}: ${entity.loginsFailed1h} failed logins in 1 h (over ${over})`);
    }
    return null;
  },
});
