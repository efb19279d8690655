import { BlockList, isIP } from 'node:net';
import { formatV4, formatV6, maskOf, parseV4, parseV6 } from './ip-text.ts';

/** Networks that addresses are compared with. */
export class NetworkSet {
  readonly isEmpty: boolean;
  readonly #list = new BlockList();

  /** `cidrs` are canonical, `10.0.0.0/8`. */
  constructor(cidrs: readonly string[]) {
    this.isEmpty = cidrs.length === 0;
    for (const cidr of cidrs) {
      const [network, bits] = partsOf(cidr);
      this.#list.addSubnet(network, bits, network.includes(':') ? 'ipv6' : 'ipv4');
    }
  }

  /** Returns false for text that is no address. */
  has(address: string): boolean {
    const plain = withoutMapping(address);
    const version = isIP(plain);
    return version !== 0 && this.#list.check(plain, version === 6 ? 'ipv6' : 'ipv4');
  }
}

/** Returns a network or a single address as CIDR in canonical form; null for other text, and for bits beyond the prefix. */
export function canonicalNetwork(text: string): string | null {
  const [address = '', bitsText, ...rest] = text.split('/');
  if (rest.length > 0 || (bitsText !== undefined && !/^(?:0|[1-9]\d{0,2})$/.test(bitsText))) return null;
  const v4 = parseV4(address);
  if (v4 >= 0) {
    const bits = Number(bitsText ?? 32);
    return bits <= 32 && v4 % 2 ** (32 - bits) === 0 ? `${formatV4(v4)}/${bits}` : null;
  }
  const groups = parseV6(address);
  const bits = Number(bitsText ?? 128);
  if (groups === null || bits > 128) return null;
  return groups.every((group, at) => (group & maskOf(at, bits)) === group) ? `${formatV6(groups)}/${bits}` : null;
}

/** Returns whether each of the networks is within one of `outer`; all in canonical form. */
export function areWithin(networks: readonly string[], outer: readonly string[]): boolean {
  return networks.every((inner) => {
    const [address, bits] = partsOf(inner);
    return outer.some((one) => partsOf(one)[1] <= bits && new NetworkSet([one]).has(address));
  });
}

function partsOf(cidr: string): readonly [network: string, bits: number] {
  const [network = '', bits = ''] = cidr.split('/');
  return [network, Number(bits)];
}

/** Strips the IPv4-mapped prefix, which IPv4 addresses have on a dual-stack socket. */
function withoutMapping(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  return mapped?.[1] ?? address;
}
