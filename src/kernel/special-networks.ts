import { maskOf, parseV4, parseV6 } from './ip-text.ts';

/**
 * The table of addresses that are not public, for the facts of a request and for the addresses that may be dialled.
 * Source: IANA's special-purpose address registries for IPv4 and IPv6. Choice: its few globally reachable networks (AS112, AMT and
 * anycast addresses) are in the table too: they are services of the network, and no client and no receiver has such an address.
 */
const V4: readonly string[] = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared by the customers of a carrier
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link local
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // former 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
];

/** Where an IPv6 address contains an IPv4 address. */
interface Embedding {
  /** Index of the first of its two groups. */
  readonly at: number;
  /** XOR mask of both groups. */
  readonly mask: number;
  /** Whether the IPv6 address is public if the IPv4 address is; otherwise it never is. */
  readonly isPublicIfV4Is: boolean;
}

const LAST_GROUPS: Embedding = { at: 6, mask: 0, isPublicIfV4Is: false };

/** The first match counts. Outside 2000::/3, only networks that contain IPv4 addresses are listed: the rest is not public anyway. */
const V6: readonly (readonly [network: string, embedding: Embedding | null])[] = [
  // NAT64. RFC 8215 leaves the layout of the local prefix to the network operator. With a prefix other than /96, zeros or other data are in
  // the last groups.
  ['64:ff9b::/96', { ...LAST_GROUPS, isPublicIfV4Is: true }],
  ['64:ff9b:1::/48', LAST_GROUPS],
  ['2002::/16', { at: 1, mask: 0, isPublicIfV4Is: true }], // 6to4
  ['2001::/32', { ...LAST_GROUPS, mask: 0xffff }], // Teredo inverts the bits of the client's IPv4 address
  ['::ffff:0:0:0/96', LAST_GROUPS], // RFC 6145: `::ffff:0:a.b.c.d`
  ['::/96', LAST_GROUPS], // IPv4-compatible addresses, the loopback and the unspecified address
  ['2001::/23', null], // protocol assignments with benchmarking, AMT and ORCHID
  ['2001:db8::/32', null], // documentation
  ['2620:4f:8000::/48', null], // AS112
  ['3fff::/20', null], // documentation
];

interface Range {
  readonly first: number;
  readonly last: number;
}

const V4_RANGES: readonly Range[] = V4.map((text) => {
  const [network = '', bits = ''] = text.split('/');
  const first = parseV4(network);
  return { first, last: first + 2 ** (32 - Number(bits)) - 1 };
});

interface Network {
  /** Eight groups of 16 bits, and the mask of each; a group beyond the prefix has the mask 0. */
  readonly groups: readonly number[];
  readonly masks: readonly number[];
  /** Number of groups with a mask that is not 0. */
  readonly count: number;
  readonly embedding: Embedding | null;
}

const V6_NETWORKS: readonly Network[] = V6.map(([text, embedding]) => {
  const [network = '', bits = ''] = text.split('/');
  const groups = parseV6(network) ?? [];
  const masks = groups.map((_, at) => maskOf(at, Number(bits)));
  return { groups, masks, count: Math.ceil(Number(bits) / 16), embedding };
});

/** `address`: an unsigned number of 32 bits. */
export function isPublicV4(address: number): boolean {
  for (const { first, last } of V4_RANGES) if (address >= first && address <= last) return false;
  return true;
}

/** `groups`: eight groups of 16 bits, not of an IPv4-mapped address. */
export function isPublicV6(groups: readonly number[]): boolean {
  const special = findV6(groups);
  // Source: IANA's IPv6 address space. Only 2000::/3 is global unicast; the rest is local, multicast or unassigned.
  if (special === null) return (groups[0] ?? 0) >>> 13 === 1;
  return special.embedding?.isPublicIfV4Is === true && isPublicV4(embeddedIn(groups, special.embedding));
}

/** Returns the IPv4 address that an address contains because of its network; -1 if it contains none. */
export function embeddedV4(groups: readonly number[]): number {
  const embedding = findV6(groups)?.embedding ?? null;
  return embedding === null ? -1 : embeddedIn(groups, embedding);
}

/** Returns the 32 bits from the group `at` on. */
export function v4In(groups: readonly number[], at: number, mask = 0): number {
  return ((groups[at] ?? 0) ^ mask) * 65_536 + ((groups[at + 1] ?? 0) ^ mask);
}

function embeddedIn(groups: readonly number[], { at, mask }: Embedding): number {
  return v4In(groups, at, mask);
}

function findV6(groups: readonly number[]): Network | null {
  for (const network of V6_NETWORKS) if (contains(network, groups)) return network;
  return null;
}

function contains(network: Network, groups: readonly number[]): boolean {
  for (let at = 0; at < network.count; at++)
    if (((groups[at] ?? 0) & (network.masks[at] ?? 0)) !== network.groups[at]) return false;
  return true;
}
