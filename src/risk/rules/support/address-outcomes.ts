import type { IpHistory } from '../../history.ts';

/** Source: the default rules. */
const SUCCEEDED_MIN = 3;
const QUIET_SCALE = 0.4;
/** Choice: people mistype one login in ten or twenty; who buys an account for each failure needs four. */
const ACCOUNTS_PER_FAILURE = 4;
const ACCOUNTS_PER_SIGNUP = 1.25;

/**
 * Returns the factor for the weights of rules that count unknown identities at an address: 0.4 if at least 3 known accounts logged in there
 * in 24 h, or paid in 1 h, and fewer accounts failed or were declined; else 1. An account counts once a day and is known from an earlier
 * day or from another network, so repeating the success of an own account changes nothing.
 */
export function scaleBySuccesses(ip: IpHistory): number {
  const succeeded = ip.knownAccountsSucceeded24h + ip.paid1h;
  return succeeded >= SUCCEEDED_MIN && ip.accountsFailing24h + ip.declined1h < succeeded ? QUIET_SCALE : 1;
}

/**
 * The same for rules about logins, which also weigh less where 4 new accounts succeeded for each that failed: an office on its first day.
 * Rules about sign-ups have their own, since an attacker can log in to the accounts that it opens.
 */
export function scaleByLogins(ip: IpHistory): number {
  const succeeded = ip.accountsSucceeded24h;
  const isOffice =
    succeeded >= SUCCEEDED_MIN && ip.accountsFailing24h * ACCOUNTS_PER_FAILURE <= succeeded && ip.declined1h === 0;
  return isOffice ? QUIET_SCALE : scaleBySuccesses(ip);
}

/**
 * The same for rules about sign-ups: 0.4 where at least a quarter as many accounts again log in as are opened, so that for every four new
 * accounts there is one that was opened elsewhere: a shop's tablet; or where 3 orders were paid in 1 h.
 */
export function scaleOfSignups(ip: IpHistory): number {
  const { accountsSucceeded24h: succeeded, accountsFailing24h: failing, paid1h: paid, declined1h: declined } = ip;
  const isTablet =
    succeeded >= Math.max(SUCCEEDED_MIN, ACCOUNTS_PER_SIGNUP * ip.signups24h) &&
    failing * ACCOUNTS_PER_FAILURE <= succeeded;
  return isTablet || (paid >= SUCCEEDED_MIN && declined < paid) ? QUIET_SCALE : 1;
}

/** Returns `12 accounts logged in and 3 payments succeeded there`. */
export function describeSuccesses({ accountsSucceeded24h: accounts, paid1h: payments }: IpHistory): string {
  const parts = [
    ...(accounts > 0 ? [`${accounts} accounts logged in`] : []),
    ...(payments > 0 ? [`${payments} payments succeeded`] : []),
  ];
  return `${parts.join(' and ')} there`;
}
