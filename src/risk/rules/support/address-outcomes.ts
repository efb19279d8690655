import type { IpHistory } from '../../history.ts';

/** Source: the default rules. */
const SUCCEEDED_MIN = 3;
const QUIET_SCALE = 0.4;

/**
 * Returns the factor for the weights of rules that count unknown identities at an address: 0.4 if at least 3 logins of 24 h or payments of
 * 1 h succeeded there and fewer failed, because people who try stolen passwords and cards fail; else 1.
 */
export function scaleBySuccesses(ip: IpHistory): number {
  const succeeded = ip.loginsSucceeded24h + ip.paid1h;
  return succeeded >= SUCCEEDED_MIN && ip.loginsFailed24h + ip.declined1h < succeeded ? QUIET_SCALE : 1;
}

/** Returns `12 logins and 3 payments there succeeded`. */
export function describeSuccesses({ loginsSucceeded24h: logins, paid1h: payments }: IpHistory): string {
  const parts = [...(logins > 0 ? [`${logins} logins`] : []), ...(payments > 0 ? [`${payments} payments`] : [])];
  return `${parts.join(' and ')} there succeeded`;
}
