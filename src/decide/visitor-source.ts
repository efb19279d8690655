import type { TrustedProxies } from '../http/trusted-proxies.ts';
import { readIp } from '../risk/signals/ip.ts';

/** Returns the name under which a visitor is counted, or null if the address may stand for everybody. */
export type VisitorSource = (address: string) => string | null;

/**
 * Counts IPv6 by /64, since one subscriber line owns all addresses of a /64. A trusted proxy that names no client is not counted. While no
 * proxy is trusted, a non-public address is not counted either: that is how a load balancer in front of the service appears, and counting
 * it would lock out all visitors behind it at once.
 */
export function visitorSource(proxies: TrustedProxies): VisitorSource {
  return (address) => {
    const ip = readIp(address);
    if (ip.kind !== 'valid') return null;
    if (proxies.isEmpty ? !ip.public : proxies.has(address)) return null;
    return ip.networks.host;
  };
}
