import { isSettledOwner, OWNER_TIMES } from './support/account-context.ts';
import { entityName, hit, withThresholds } from './rule.ts';

/**
 * Fires on a login when the account had over 10 logins in 1 h, on any networks: its password is being guessed.
 *
 * Quiet if a login of the account is known to have succeeded on this device, or on this network with this agent, so that others cannot lock
 * the owner out. Requires twice as many logins on a device (without a collector: with a user agent) and a network that an account of at
 * least a day knows: that is mostly the owner, who forgot the password, but could be somebody who prepared by logging in the day before.
 * Source of number and weight: the default rules.
 */
export const loginsEntity1h = withThresholds({
  code: 'logins_entity_1h',
  family: 'entity_volume',
  weights: { default: 0.5 },
  thresholds: { logins: 10 },
  hint: 'one account is logged into again and again',
  quietedBy:
    'a login of the account is known to have succeeded on this device, or on this network with this agent; up to 20 on a device and a network that an account has known for a day',
  evaluate({ eventType, history }, _policy, { logins }) {
    const account = history?.crowd?.account ?? null;
    if (history === null || account === null || eventType !== 'login') return null;
    if (history.entities.some(({ hasSucceededHere }) => hasSucceededHere)) return null;
    const over = isSettledOwner(history) ? OWNER_TIMES * logins : logins;
    if (!(account.logins1h > over)) return null;
    return hit(`${entityName(account)}: ${account.logins1h} logins in 1 h (over ${over})`);
  },
});
