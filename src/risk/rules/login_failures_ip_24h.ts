import { hit, withThresholds } from './rule.ts';

const HOUR_SECONDS = 3_600;

/**
 * Fires on a login when over 8 logins of other accounts from its address failed in 24 h, and over 80 % of the known outcomes are failures:
 * stolen passwords are tried slowly.
 *
 * Quiet while fewer than 3 logins of unknown accounts came from there, because somebody may just have forgotten a password; for an account
 * that was seen on that network before, or whose only failures were over an hour ago and that now tries again; without a public address;
 * without reported outcomes.
 * Source of numbers and weight: the default rules; people fail one login in five or ten.
 */
export const loginFailuresIp24h = withThresholds({
  code: 'login_failures_ip_24h',
  family: 'ip_volume',
  weights: { default: 0.55 },
  thresholds: { failures: 8, failureShare: 0.8, accounts: 3 },
  hint: 'most logins from the IP address fail',
  quietedBy: 'the account was on that network before, or failed over an hour ago and retries; no outcomes are reported',
  evaluate({ eventType, history }, _policy, { failures, failureShare, accounts }) {
    const ip = history?.ip ?? null;
    if (history === null || ip === null || eventType !== 'login') return null;
    const { loginsFailed24h: failed, loginsSucceeded24h: succeeded } = ip;
    // People who forgot a password fail with one account; `login_failures_entity_1h` counts those failures.
    const own = Math.max(0, ...history.entities.map(({ loginsFailed1h }) => loginsFailed1h));
    if (!(failed - own > failures) || !(failed > failureShare * (failed + succeeded))) return null;
    if (!((history.crowd?.address?.strangers24h ?? 0) >= accounts)) return null;
    if (history.entities.some(({ networkIsNew }) => !networkIsNew)) return null;
    if (history.entities.some(({ isNew, knownForSeconds }) => isNew && knownForSeconds > HOUR_SECONDS)) return null;
    return hit(`${failed} of ${failed + succeeded} logins from the address failed in 24 h (over ${failures})`);
  },
});
