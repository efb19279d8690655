import type { HistoryFacts, IpHistory } from '../history.ts';
import { type Hit, hit, withThresholds } from './rule.ts';

/** Choice: as many as people mistype; who buys an account for each failure needs four. */
const ACCOUNTS_PER_FAILURE = 4;

/**
 * Fires on a login where stolen passwords are tried slowly. One of two findings about its address in 24 h is enough:
 * - over 8 logins of other accounts failed, over 80 % of failures and of accounts that succeeded, of an account that has not succeeded
 *   since, and at least 3 logins were of unknown accounts: otherwise somebody may just have forgotten a password;
 * - over 8 accounts failed and did not succeed, more than known accounts succeeded, and over a quarter as many as accounts succeeded.
 *
 * An account that succeeds counts once a day, and its success reverts its own failure only. Quiet for an account that was seen on that
 * network before; without a public address; without reported outcomes.
 * Source of numbers and weight: the default rules; people fail one login in five or ten.
 */
export const loginFailuresIp24h = withThresholds({
  code: 'login_failures_ip_24h',
  family: 'ip_volume',
  weights: { default: 0.55 },
  thresholds: { failures: 8, failureShare: 0.8, accounts: 3, failingAccounts: 8 },
  hint: 'most logins from the IP address fail',
  quietedBy: 'the account was on that network before; no outcomes are reported',
  evaluate({ eventType, history }, _policy, thresholds) {
    const ip = history?.ip ?? null;
    if (history === null || ip === null || eventType !== 'login') return null;
    if (history.entities.some(({ networkIsNew }) => !networkIsNew)) return null;
    return accountsHit(ip, thresholds.failingAccounts) ?? failuresHit(history, ip, thresholds);
  },
});

function accountsHit(
  { accountsFailing24h: failing, accountsSucceeded24h: succeeded, knownAccountsSucceeded24h: known }: IpHistory,
  failingAccounts: number,
): Hit | null {
  if (!(failing > failingAccounts) || !(failing > known) || !(failing * ACCOUNTS_PER_FAILURE > succeeded)) return null;
  return hit(
    `${failing} accounts failed at the address in 24 h (over ${failingAccounts}), and ${succeeded} succeeded, of which ${known} were known`,
  );
}

function failuresHit(
  { entities, crowd }: HistoryFacts,
  { loginsFailed24h: failed, accountsSucceeded24h: succeeded, accountsFailing24h: failing }: IpHistory,
  {
    failures,
    failureShare,
    accounts,
  }: { readonly failures: number; readonly failureShare: number; readonly accounts: number },
): Hit | null {
  // People who forgot a password fail with one account; `login_failures_entity_1h` counts those failures.
  const own = Math.max(0, ...entities.map(({ loginsFailed1h }) => loginsFailed1h));
  if (!(failed - own > failures) || !(failed > failureShare * (failed + succeeded))) return null;
  if (!(failing > 0) || !((crowd?.address?.strangers24h ?? 0) >= accounts)) return null;
  return hit(
    `${failed} logins from the address failed in 24 h (over ${failures}), and ${succeeded} accounts succeeded`,
  );
}
