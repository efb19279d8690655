import { BlockList, isIP } from 'node:net';

/** Choice: longer chains are nobody's; what stands further left is the client's own text anyway. */
const HOPS_MAX = 16;

/**
 * The proxies that may name the client's address, from GATEHOUSE_TRUSTED_PROXIES. Without any, the peer's address is the client's
 * and forwarding headers are not read: anyone could write them.
 */
export class TrustedProxies {
  readonly isEmpty: boolean;
  readonly #list = new BlockList();

  /** `cidrs` are canonical, `10.0.0.0/8`. */
  constructor(cidrs: readonly string[]) {
    this.isEmpty = cidrs.length === 0;
    for (const cidr of cidrs) {
      const [network = '', bits = ''] = cidr.split('/');
      this.#list.addSubnet(network, Number(bits), network.includes(':') ? 'ipv6' : 'ipv4');
    }
  }

  has(address: string): boolean {
    const plain = withoutMapping(address);
    const version = isIP(plain);
    return version !== 0 && this.#list.check(plain, version === 6 ? 'ipv6' : 'ipv4');
  }

  /**
   * The client's address: from the peer on, each trusted proxy's word for who came before it counts, so the right-most address that
   * is no proxy's. What cannot be read ends the chain at the proxy that passed it on.
   */
  clientOf(peer: string, forwardedFor: string): string {
    if (this.isEmpty || forwardedFor === '' || !this.has(peer)) return peer;
    let client = peer;
    for (const hop of forwardedFor.split(',').slice(-HOPS_MAX).toReversed()) {
      const address = hop.trim();
      if (isIP(address) === 0) return client;
      client = address;
      if (!this.has(address)) return client;
    }
    return client;
  }
}

/** IPv4 addresses look so on a socket that takes both versions. */
function withoutMapping(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  return mapped?.[1] ?? address;
}
