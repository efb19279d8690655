import { isIPv4, isIPv6 } from 'node:net';
import type Ipaddr from 'ipaddr.js';
import { loadCommonJs } from '../kernel/load-package.ts';

/** Parses GATEHOUSE_EGRESS_ALLOW. Strict: programs read `10/8` and `010.0.0.0/8` in different ways, so both are rejected. */

const ipaddr = loadCommonJs('ipaddr.js') as typeof Ipaddr;

export interface Cidr {
  readonly network: Ipaddr.IPv4 | Ipaddr.IPv6;
  /** Prefix length: 0 to 32 for IPv4, 0 to 128 for IPv6. */
  readonly bits: number;
}

/** Choice: maximum number of networks in the setting. Every dialled address is compared with each of them. */
const NETWORKS_MAX = 256;

export type EgressAllow =
  /** In canonical form, for example `10.0.0.0/8`. Empty when nothing is allowed. */
  { readonly kind: 'ok'; readonly cidrs: readonly string[] } | { readonly kind: 'fault'; readonly detail: string };

/** Parses networks and single addresses, separated by commas or white space. */
export function parseEgressAllow(text: string): EgressAllow {
  const parts = text.split(/[\s,]+/).filter((part) => part !== '');
  if (parts.length > NETWORKS_MAX) return { kind: 'fault', detail: `more than ${NETWORKS_MAX} networks` };
  const cidrs = new Set<string>();
  for (const part of parts) {
    const read = readCidr(part);
    if (read.kind === 'fault') return read;
    cidrs.add(`${read.cidr.network.toString()}/${read.cidr.bits}`);
  }
  return { kind: 'ok', cidrs: [...cidrs] };
}

type ReadCidr = { readonly kind: 'ok'; readonly cidr: Cidr } | { readonly kind: 'fault'; readonly detail: string };

/** Parses one network. A single address becomes a network that contains only this address. */
export function readCidr(text: string): ReadCidr {
  const fault = (why: string): ReadCidr => ({ kind: 'fault', detail: `${text.slice(0, 64)} ${why}` });
  const [address = '', prefix, ...rest] = text.split('/');
  const width = isIPv4(address) ? 32 : 128;
  if (address.includes('%') || (width === 128 && !isIPv6(address))) return fault('is not an IP address or network');
  if (rest.length > 0 || (prefix !== undefined && !/^(?:0|[1-9]\d{0,2})$/.test(prefix)))
    return fault('has an invalid prefix length');
  const bits = prefix === undefined ? width : Number(prefix);
  if (bits > width) return fault(`has a prefix longer than ${width}`);
  const network = ipaddr.parse(address);
  if (!hasZerosFrom(network.toByteArray(), bits)) return fault('has bits set beyond its prefix');
  return { kind: 'ok', cidr: unmapped({ network, bits }) };
}

function hasZerosFrom(bytes: readonly number[], bits: number): boolean {
  return bytes.every((byte, i) => {
    const kept = Math.min(8, Math.max(0, bits - i * 8));
    return (byte & (0xff >> kept)) === 0;
  });
}

/** Addresses are converted from IPv4-mapped form before they are compared, so networks of such addresses must be converted too. */
function unmapped({ network, bits }: Cidr): Cidr {
  if (network instanceof ipaddr.IPv4 || bits < 96 || !network.isIPv4MappedAddress()) return { network, bits };
  return { network: network.toIPv4Address(), bits: bits - 96 };
}
