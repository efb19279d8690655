import { isIP } from 'node:net';
import { addressOfNode } from '../kernel/ip-text.ts';
import { NetworkSet } from '../kernel/network-set.ts';

/** Choice: no real chain is longer, and entries further left are the client's own text anyway. */
const HOPS_MAX = 16;

/**
 * The proxies that may set the client's address, from GATEHOUSE_TRUSTED_PROXIES. Without any, the client's address is the peer's, and
 * forwarding headers are not read, because anyone could write them.
 */
export class TrustedProxies extends NetworkSet {
  /**
   * Returns the client's address: the right-most one, starting with the peer, that is not a trusted proxy's, because each trusted proxy
   * vouches for the address before its own. Entries may have a port, brackets, quotes or a zone, and empty ones say nothing (RFC 9110,
   * 5.6.1). An entry without an address, such as `unknown`, ends the chain at the proxy that forwarded it.
   */
  clientOf(peer: string, forwardedFor: string): string {
    if (this.isEmpty || forwardedFor === '' || !this.has(peer)) return peer;
    let client = peer;
    for (const hop of forwardedFor.split(',').slice(-HOPS_MAX).toReversed()) {
      const address = addressOfNode(hop);
      if (address === '') continue;
      if (isIP(address) === 0) return client;
      client = address;
      if (!this.has(address)) return client;
    }
    return client;
  }
}
