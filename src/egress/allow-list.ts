import { isIPv4, isIPv6 } from 'node:net';
import type Ipaddr from 'ipaddr.js';
import { loadCommonJs } from '../base/load.ts';

/** Reads GATEHOUSE_EGRESS_ALLOW. Strict: `10/8` and `010.0.0.0/8` mean different things to different readers, so they are faults. */

const ipaddr = loadCommonJs('ipaddr.js') as typeof Ipaddr;

export interface Cidr {
  readonly network: Ipaddr.IPv4 | Ipaddr.IPv6;
  /** 0 to 32, or to 128. */
  readonly bits: number;
}

/** Choice: networks in one setting; every dialled address is compared with each. */
const NETWORKS_MAX = 256;

export type EgressAllow =
  /** Canonical, `10.0.0.0/8`; empty when nothing is allowed. */
  { readonly kind: 'ok'; readonly cidrs: readonly string[] } | { readonly kind: 'fault'; readonly detail: string };

/** Networks or single addresses, separated by commas or white space. */
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

/** One network, or an address as the network of itself. */
export function readCidr(text: string): ReadCidr {
  const fault = (why: string): ReadCidr => ({ kind: 'fault', detail: `${text.slice(0, 64)} ${why}` });
  const [address = '', prefix, ...rest] = text.split('/');
  const width = isIPv4(address) ? 32 : 128;
  if (address.includes('%') || (width === 128 && !isIPv6(address))) return fault('is no IP address or network');
  if (rest.length > 0 || (prefix !== undefined && !/^(?:0|[1-9]\d{0,2})$/.test(prefix)))
    return fault('has no prefix length that can be read');
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

/** Addresses are unmapped before they are compared, so networks of mapped ones must be too. */
function unmapped({ network, bits }: Cidr): Cidr {
  if (network instanceof ipaddr.IPv4 || bits < 96 || !network.isIPv4MappedAddress()) return { network, bits };
  return { network: network.toIPv4Address(), bits: bits - 96 };
}
