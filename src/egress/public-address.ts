import { networkInterfaces } from 'node:os';
import { isIP, isIPv4, isIPv6 } from 'node:net';
import type Ipaddr from 'ipaddr.js';
import { loadCommonJs } from '../kernel/load-package.ts';
import { embeddedV4, isPublicV4, isPublicV6, v4In } from '../kernel/special-networks.ts';
import { type Cidr, readCidr } from './allow-list.ts';

/** Decides which addresses may be dialled. Fails closed: an address that is not known to be public is blocked. */

const ipaddr = loadCommonJs('ipaddr.js') as typeof Ipaddr;

type Address = Ipaddr.IPv4 | Ipaddr.IPv6;

export interface ListeningAddress {
  /** As given to the listener: `127.0.0.1`, `0.0.0.0`, `::`. A host name counts as all addresses of this machine. */
  readonly host: string;
  readonly port: number;
}

export interface EgressPolicy {
  /** Networks that may be reached although they are not public. Source: contract, 15.3. */
  readonly allowed: readonly Cidr[];
  /** Addresses on which this service itself listens. They are never dialled, not even when `allowed` contains them. */
  readonly own: readonly ListeningAddress[];
}

/** Builds the policy. `allow` is the output of `parseEgressAllow`; throws a TypeError for anything else. */
export function egressPolicy(allow: readonly string[], own: readonly ListeningAddress[] = []): EgressPolicy {
  const allowed = allow.map((text) => {
    const read = readCidr(text);
    if (read.kind === 'fault') throw new TypeError(read.detail);
    return read.cidr;
  });
  return { allowed, own };
}

export type AddressVerdict =
  /** `text` is the canonical spelling. Callers must dial this one, never the spelling that was parsed. */
  | { readonly kind: 'permitted'; readonly text: string; readonly family: 4 | 6 }
  | { readonly kind: 'blocked'; readonly detail: string };

/**
 * Decides whether `text` may be dialled at `port`. `text` is an IP address in any spelling that a resolver or a URL may contain. A zone id
 * is ignored and never dialled. Text that cannot be parsed as an address is blocked.
 */
export function judgeAddress(text: string, port: number, policy: EgressPolicy): AddressVerdict {
  const address = readAddress(text);
  if (address === null) return { kind: 'blocked', detail: `${text.slice(0, 64)} is not an IP address` };
  const canonical = address.toString();
  if (!isReachable(address, policy)) return { kind: 'blocked', detail: `${canonical} is not a public address` };
  if (isOwn(address, port, policy))
    return { kind: 'blocked', detail: `${canonical} port ${port} is this service itself` };
  if (isIP(canonical) === 0) return { kind: 'blocked', detail: `${canonical} cannot be dialled` };
  return { kind: 'permitted', text: canonical, family: address.kind() === 'ipv4' ? 4 : 6 };
}

/** Returns whether the operator allows loopback addresses. */
export function allowsLoopback(policy: EgressPolicy): boolean {
  return ['127.0.0.1', '::1'].some((text) => {
    const address = readAddress(text);
    return address !== null && isReachable(address, policy);
  });
}

/** Parses an address. IPv4 is also accepted in the spellings of inet_aton. An IPv4-mapped IPv6 address becomes its IPv4 address. */
function readAddress(text: string): Address | null {
  const zoneAt = text.indexOf('%');
  const plain = zoneAt < 0 ? text : text.slice(0, zoneAt);
  if (!plain.includes(':')) return ipaddr.IPv4.isValid(plain) ? ipaddr.IPv4.parse(plain) : null;
  if (!isIPv6(plain)) return null;
  // ipaddr.js treats `::a.b.c.d` as an IPv4-mapped address, which it is not.
  const address = ipaddr.IPv6.parse(/^::\d+\./.test(plain) ? `0:0:0:0:0:0:${plain.slice(2)}` : plain);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

function isReachable(address: Address, policy: EgressPolicy): boolean {
  if (address instanceof ipaddr.IPv4) return isAllowed(address, policy) || isDialableV4(address);
  if (!carriedV4(address).every((carried) => isReachable(carried, policy))) return false;
  if (isWithin(address, WELL_KNOWN_NAT64)) return true;
  return isAllowed(address, policy) || isDialableV6(address);
}

function isAllowed(address: Address, policy: EgressPolicy): boolean {
  return policy.allowed.some((cidr) => isWithin(address, cidr));
}

function isWithin(address: Address, { network, bits }: Cidr): boolean {
  if (address instanceof ipaddr.IPv4) return network instanceof ipaddr.IPv4 && address.match(network, bits);
  return network instanceof ipaddr.IPv6 && address.match(network, bits);
}

function cidr(text: string): Cidr {
  const read = readCidr(text);
  if (read.kind === 'fault') throw new TypeError(read.detail);
  return read.cidr;
}

/** Choice: blocked although it is a public address. On it, the Azure host agent serves secrets to the virtual machines of that host. */
const AZURE_HOST_AGENT = cidr('168.63.129.16/32');

function isDialableV4(address: Ipaddr.IPv4): boolean {
  return isPublicV4(v4Number(address)) && !isWithin(address, AZURE_HOST_AGENT);
}

const WELL_KNOWN_NAT64 = cidr('64:ff9b::/96');

/** Choice: public as an address of a client, but never dialled: RFC 7526 has withdrawn the relays that lead there. */
const SIX_TO_FOUR = cidr('2002::/16');

function isDialableV6(address: Ipaddr.IPv6): boolean {
  return isPublicV6(address.parts) && !isWithin(address, SIX_TO_FOUR);
}

/** Source: RFC 5214, 6.1: the interface id of ISATAP in any network, with and without the universal/local bit, as two groups. */
const ISATAP_AT = 4;
const ISATAP_MARKS: readonly (readonly [number, number])[] = [
  [0x0000, 0x5efe],
  [0x0200, 0x5efe],
];

/**
 * Returns the IPv4 addresses embedded in an IPv6 address. All of them must be allowed. The IPv6 address itself must be allowed as well,
 * except under the well-known NAT64 prefix.
 */
function carriedV4(address: Ipaddr.IPv6): readonly Ipaddr.IPv4[] {
  if (address.range() === 'loopback' || address.range() === 'unspecified') return [];
  const { parts } = address;
  const carried: Ipaddr.IPv4[] = [];
  const embedded = embeddedV4(parts);
  if (embedded >= 0) carried.push(v4Address(embedded));
  if (ISATAP_MARKS.some(([first, second]) => parts[ISATAP_AT] === first && parts[ISATAP_AT + 1] === second))
    carried.push(v4Address(v4In(parts, ISATAP_AT + 2)));
  return carried;
}

function v4Number({ octets }: Ipaddr.IPv4): number {
  return octets.reduce((number, octet) => number * 256 + octet, 0);
}

function v4Address(number: number): Ipaddr.IPv4 {
  return new ipaddr.IPv4([number >>> 24, (number >>> 16) & 255, (number >>> 8) & 255, number & 255]);
}

function isOwn(address: Address, port: number, policy: EgressPolicy): boolean {
  const candidates = policy.own.filter((own) => own.port === port);
  if (candidates.length === 0) return false;
  const all = address instanceof ipaddr.IPv6 ? [address, ...carriedV4(address)] : [address];
  return candidates.some(({ host }) => all.some((one) => leadsTo(one, host)));
}

function leadsTo(address: Address, listening: string): boolean {
  // Dialling the unspecified address connects to this machine.
  if (address.range() === 'unspecified') return true;
  const own = readAddress(listening);
  if (own === null || own.range() === 'unspecified') return isOfThisMachine(address);
  return own.toString() === address.toString();
}

function isOfThisMachine(address: Address): boolean {
  if (address.range() === 'loopback') return true;
  const text = address.toString();
  return Object.values(networkInterfaces()).some((all) =>
    all?.some((one) => readAddress(one.address)?.toString() === text),
  );
}

/** Returns whether the text is an IP address in standard notation, which needs no DNS look-up. */
export function isLiteral(text: string): boolean {
  return isIPv4(text) || isIPv6(text);
}
