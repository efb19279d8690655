import { HOSTING_NETWORKS } from '../data/hosting-network-table.ts';
import { parseV4 } from '../../kernel/ip-text.ts';

/**
 * Maps an address to the network of a hosting company or a relay, for services without a network database. It returns the AS number only:
 * the policy's lists of hosting and relay networks decide what that means, so an operator's own lists apply here too.
 */
export interface HostingTable {
  /** When its source was current, YYYY-MM-DD. */
  readonly day: string;
  readonly ranges: number;
  /** Takes an address in canonical text; returns null when it is in none of the networks. */
  find(ip: string, version: 4 | 6): HostingNetwork | null;
}

export interface HostingNetwork {
  readonly asn: number;
  readonly organisation: string;
}

export type HostingOutcome =
  | { readonly kind: 'ok'; readonly table: HostingTable }
  | { readonly kind: 'fault'; readonly detail: string };

/** Source: RFC 6793. */
const ASN_MAX = 4_294_967_295;
/** Bits of an IPv6 address that are compared. Choice: a site's /48 is the smallest network stored, and 48 bits fit a double. */
const V6_BITS = 48;
/** One to three groups, then zeros. */
const V6_NETWORK = /^[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,2}::$/;

/**
 * The built-in table, read once per thread.
 * Measured: 10 ms of processor time for the first read in a thread, 0.8 ms for later ones; a look-up 0.10 to 0.17 µs.
 */
export function builtInHostingTable(): HostingOutcome {
  builtIn ??= readHostingTable(HOSTING_NETWORKS);
  return builtIn;
}

let builtIn: HostingOutcome | null = null;

/**
 * Parses a table's text. Total: a text that is truncated, overlapping or otherwise malformed is a fault, never a partial table.
 *
 * Format: `gatehouse-hosting-networks 1 <day> <number of networks>`, then for each company a line `AS<number> <name>` and below it lines of
 * networks in CIDR notation.
 */
export function readHostingTable(text: string): HostingOutcome {
  const lines = text.trim().split('\n');
  const header = /^gatehouse-hosting-networks 1 (\d{4}-\d\d-\d\d) (\d+)$/.exec(lines[0] ?? '');
  const day = header?.[1] ?? '';
  if (header === null || Number.isNaN(Date.parse(day))) return fault('its first line is not a header of version 1');
  const four: Range[] = [];
  const six: Range[] = [];
  let network: HostingNetwork | null = null;
  for (const [i, line] of lines.entries()) {
    if (i === 0 || line === '') continue;
    const company = /^AS(\d{1,10}) (\S.*)$/.exec(line);
    if (company !== null) {
      network = { asn: Number(company[1]), organisation: company[2] ?? '' };
      if (network.asn > ASN_MAX) return fault(`line ${i + 1}: no AS number`);
      continue;
    }
    if (network === null) return fault(`line ${i + 1}: networks before a company`);
    for (const word of line.split(' ')) {
      const range = parseNetwork(word);
      if (range === null) return fault(`line ${i + 1}: "${word.slice(0, 50)}" is not a network`);
      (range.version === 4 ? four : six).push({ first: range.first, last: range.last, network });
    }
  }
  const count = four.length + six.length;
  if (count !== Number(header[2])) return fault(`it has ${count} networks and announces ${header[2]}`);
  four.sort((a, b) => a.first - b.first);
  six.sort((a, b) => a.first - b.first);
  const overlapping = findOverlap(four) ?? findOverlap(six);
  if (overlapping !== null) return fault(`networks of ${overlapping} overlap`);
  const v4 = toIndex(four);
  const v6 = toIndex(six);
  return {
    kind: 'ok',
    table: {
      day,
      ranges: count,
      find: (ip, version) => (version === 4 ? search(v4, parseV4(ip)) : search(v6, leadingBits(ip))),
    },
  };
}

/** The first and last address of a network, as numbers: all bits of IPv4, the first 48 of IPv6. */
export interface NetworkRange {
  readonly version: 4 | 6;
  readonly first: number;
  readonly last: number;
}

/** Returns null unless the text is a network in CIDR notation without bits beyond its prefix, and in IPv6 a /48 or larger. */
export function parseNetwork(text: string): NetworkRange | null {
  const slash = text.indexOf('/');
  const address = text.slice(0, slash);
  const length = text.slice(slash + 1);
  if (slash < 0 || !/^\d{1,2}$/.test(length)) return null;
  const version = address.includes(':') ? 6 : 4;
  const bits = version === 4 ? 32 : V6_BITS;
  const first = version === 4 ? parseV4(address) : V6_NETWORK.test(address) ? leadingBits(address) : -1;
  const size = 2 ** (bits - Number(length));
  if (first < 0 || size < 1 || first % size !== 0) return null;
  return { version, first, last: first + size - 1 };
}

/**
 * Returns the first 48 bits of an IPv6 address in canonical text (RFC 5952), where `::` stands for two groups or more and all groups before
 * it are written out. An address that begins with `::` is not public and gives 0.
 */
export function leadingBits(ip: string): number {
  let bits = 0;
  let group = 0;
  let groups = 0;
  for (let i = 0; i <= ip.length && groups < 3; i++) {
    const c = i < ip.length ? ip.charCodeAt(i) : 58;
    if (c === 58) {
      bits = bits * 65_536 + group;
      groups++;
      group = 0;
      if (ip.charCodeAt(i + 1) === 58) break;
    } else {
      // 0 to 9, a to f.
      group = group * 16 + (c <= 57 ? c - 48 : c - 87);
    }
  }
  return bits * 65_536 ** (3 - groups);
}

interface Range {
  readonly first: number;
  readonly last: number;
  readonly network: HostingNetwork;
}

/** Sorted and without overlaps, in flat arrays for a binary search. */
interface Index {
  readonly firsts: Float64Array;
  readonly lasts: Float64Array;
  readonly networks: readonly HostingNetwork[];
}

/** Returns the companies of two networks that overlap, or null. */
function findOverlap(sorted: readonly Range[]): string | null {
  for (const [i, range] of sorted.entries()) {
    const before = sorted[i - 1];
    if (before !== undefined && range.first <= before.last) {
      return `${before.network.organisation} and ${range.network.organisation}`;
    }
  }
  return null;
}

function toIndex(sorted: readonly Range[]): Index {
  return {
    firsts: Float64Array.from(sorted, ({ first }) => first),
    lasts: Float64Array.from(sorted, ({ last }) => last),
    networks: sorted.map(({ network }) => network),
  };
}

function search({ firsts, lasts, networks }: Index, value: number): HostingNetwork | null {
  let low = 0;
  let high = firsts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((firsts[middle] ?? 0) <= value) low = middle + 1;
    else high = middle;
  }
  return low > 0 && value <= (lasts[low - 1] ?? -1) ? (networks[low - 1] ?? null) : null;
}

function fault(detail: string): HostingOutcome {
  return { kind: 'fault', detail };
}
