import type { TrustedProxies } from '../base/trusted-proxies.ts';
import { readIp } from '../core/ip.ts';

/** The name under which a visitor is counted, or null where an address may stand for everybody. */
export type VisitorSource = (address: string) => string | null;

/**
 * Counts IPv6 by /64, since a line has all addresses of one. A trusted proxy that names no client is not counted; nor, while no
 * proxy is trusted, is an address that is not public: that is how a balancer before the service looks, and to count it would lock
 * out all visitors behind it at once.
 */
export function visitorSource(proxies: TrustedProxies): VisitorSource {
  return (address) => {
    const ip = readIp(address);
    if (ip.kind !== 'valid') return null;
    if (proxies.isEmpty ? !ip.public : proxies.has(address)) return null;
    return ip.networks.host;
  };
}
