import { networkInterfaces } from 'node:os';
import { isIP, isIPv4, isIPv6 } from 'node:net';
import type Ipaddr from 'ipaddr.js';
import { loadCommonJs } from '../base/load.ts';
import { type Cidr, readCidr } from './allow-list.ts';

/** Which addresses may be dialled. Closed by default: what is not known to be public is blocked. */

const ipaddr = loadCommonJs('ipaddr.js') as typeof Ipaddr;

type Address = Ipaddr.IPv4 | Ipaddr.IPv6;

export interface ListeningAddress {
  /** As given to the listener: `127.0.0.1`, `0.0.0.0`, `::`. A name counts as all addresses of this machine. */
  readonly host: string;
  readonly port: number;
}

export interface EgressPolicy {
  /** Networks that may be reached although they are not public. Source: open points, section 6. */
  readonly allowed: readonly Cidr[];
  /** Where this service listens itself: never dialled, whatever is allowed. */
  readonly own: readonly ListeningAddress[];
}

/** `allow` holds what `parseEgressAllow` gave. Throws a TypeError on anything else. */
export function egressPolicy(allow: readonly string[], own: readonly ListeningAddress[] = []): EgressPolicy {
  const allowed = allow.map((text) => {
    const read = readCidr(text);
    if (read.kind === 'fault') throw new TypeError(read.detail);
    return read.cidr;
  });
  return { allowed, own };
}

export type AddressVerdict =
  /** `text` is the canonical spelling, which is what must be dialled: never the spelling that was read. */
  | { readonly kind: 'permitted'; readonly text: string; readonly family: 4 | 6 }
  | { readonly kind: 'blocked'; readonly detail: string };

/**
 * Whether `text`, an IP address in any spelling that a resolver or a URL may hold, may be dialled at `port`. A zone id counts for
 * nothing and is not dialled. What cannot be read as an address is blocked.
 */
export function judgeAddress(text: string, port: number, policy: EgressPolicy): AddressVerdict {
  const address = readAddress(text);
  if (address === null) return { kind: 'blocked', detail: `${text.slice(0, 64)} is no IP address` };
  const canonical = address.toString();
  if (!isReachable(address, policy)) return { kind: 'blocked', detail: `${canonical} is not a public address` };
  if (isOwn(address, port, policy))
    return { kind: 'blocked', detail: `${canonical} port ${port} is this service itself` };
  if (isIP(canonical) === 0) return { kind: 'blocked', detail: `${canonical} cannot be dialled` };
  return { kind: 'permitted', text: canonical, family: address.kind() === 'ipv4' ? 4 : 6 };
}

/** Whether loopback is among what the operator allows. */
export function allowsLoopback(policy: EgressPolicy): boolean {
  return ['127.0.0.1', '::1'].some((text) => {
    const address = readAddress(text);
    return address !== null && isReachable(address, policy);
  });
}

/** IPv4 also in the spellings of inet_aton; a mapped address is the IPv4 address that it stands for. */
function readAddress(text: string): Address | null {
  const zoneAt = text.indexOf('%');
  const plain = zoneAt < 0 ? text : text.slice(0, zoneAt);
  if (!plain.includes(':')) return ipaddr.IPv4.isValid(plain) ? ipaddr.IPv4.parse(plain) : null;
  if (!isIPv6(plain)) return null;
  // ipaddr.js takes `::a.b.c.d` for a mapped address, which it is not.
  const address = ipaddr.IPv6.parse(/^::\d+\./.test(plain) ? `0:0:0:0:0:0:${plain.slice(2)}` : plain);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

function isReachable(address: Address, policy: EgressPolicy): boolean {
  if (address instanceof ipaddr.IPv4) return isAllowed(address, policy) || isPublicV4(address);
  if (!carriedV4(address).every((carried) => isReachable(carried, policy))) return false;
  if (isWithin(address, WELL_KNOWN_NAT64)) return true;
  return isAllowed(address, policy) || isPublicV6(address);
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

/** Choice: a public address where Azure's host answers to its guests with their secrets. */
const AZURE_HOST_AGENT = cidr('168.63.129.16/32');

/**
 * Source: IANA's special-purpose registry for IPv4; ipaddr.js gives every entry of it a range of its own, also those few that are
 * globally reachable (AS112, AMT), where no receiver is.
 */
function isPublicV4(address: Ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && !isWithin(address, AZURE_HOST_AGENT);
}

/** Source: IANA's IPv6 address space: only 2000::/3 is global unicast; ipaddr.js calls what is not assigned unicast too. */
const GLOBAL_UNICAST = cidr('2000::/3');

function isPublicV6(address: Ipaddr.IPv6): boolean {
  return isWithin(address, GLOBAL_UNICAST) && address.range() === 'unicast';
}

const WELL_KNOWN_NAT64 = cidr('64:ff9b::/96');

/** Networks whose addresses lead to an IPv4 host, and the byte at which its address begins. */
const CARRIERS: readonly (readonly [carrier: Cidr, at: number, mask: number])[] = [
  [WELL_KNOWN_NAT64, 12, 0],
  // RFC 8215: the network's own choice of layout. Another one than /96 has zeros or other parts there and stays blocked.
  [cidr('64:ff9b:1::/48'), 12, 0],
  [cidr('2002::/16'), 2, 0],
  // Teredo turns the bits of the client's address round.
  [cidr('2001::/32'), 12, 0xff],
  // RFC 6145, ::ffff:0:a.b.c.d
  [cidr('::ffff:0:0:0/96'), 12, 0],
  // IPv4-compatible
  [cidr('::/96'), 12, 0],
];

/** Source: RFC 5214, 6.1: the interface id of ISATAP in any network, with and without the bit that says it is unique. */
const ISATAP_AT = 8;
const ISATAP_MARKS: readonly (readonly number[])[] = [
  [0x00, 0x00, 0x5e, 0xfe],
  [0x02, 0x00, 0x5e, 0xfe],
];

/** The IPv4 addresses inside; but for the well-known NAT64 prefix, the address itself must be allowed as well. */
function carriedV4(address: Ipaddr.IPv6): readonly Ipaddr.IPv4[] {
  if (address.range() === 'loopback' || address.range() === 'unspecified') return [];
  const bytes = address.toByteArray();
  const carried: Ipaddr.IPv4[] = [];
  const carrier = CARRIERS.find(([network]) => isWithin(address, network));
  if (carrier !== undefined) carried.push(v4At(bytes, carrier[1], carrier[2]));
  if (ISATAP_MARKS.some((mark) => mark.every((byte, i) => bytes[ISATAP_AT + i] === byte)))
    carried.push(v4At(bytes, ISATAP_AT + 4, 0));
  return carried;
}

function v4At(bytes: readonly number[], at: number, mask: number): Ipaddr.IPv4 {
  return new ipaddr.IPv4(bytes.slice(at, at + 4).map((byte) => byte ^ mask));
}

function isOwn(address: Address, port: number, policy: EgressPolicy): boolean {
  const candidates = policy.own.filter((own) => own.port === port);
  if (candidates.length === 0) return false;
  const all = address instanceof ipaddr.IPv6 ? [address, ...carriedV4(address)] : [address];
  return candidates.some(({ host }) => all.some((one) => leadsTo(one, host)));
}

function leadsTo(address: Address, listening: string): boolean {
  // Dialling the unspecified address reaches this machine.
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

/** Whether a text is an address in its usual spelling, which needs no look-up. */
export function isLiteral(text: string): boolean {
  return isIPv4(text) || isIPv6(text);
}
