import type { IpFacts } from './facts.ts';
import type { Networks } from './history.ts';

/**
 * Reads IP addresses and tells public ones from the rest. On the hot path for every request, so it is written by hand.
 * Source of the ranges: IANA's special-purpose address registries for IPv4 and IPv6 (entries that are not globally reachable).
 */

/** The address as eight 16-bit groups; IPv4 sits in the last two, with `version` telling which it is. */
export interface ParsedIp {
  readonly version: 4 | 6;
  readonly groups: readonly number[];
}

/** The facts of an `ip` field. */
export function readIp(text: string): IpFacts {
  const v4 = parseV4(text);
  if (v4 >= 0) return v4Facts(v4);
  const parsed = parseV6(text);
  if (parsed === null) return { kind: 'invalid' };
  const mapped = embeddedV4(parsed);
  if (mapped >= 0) return v4Facts(mapped);
  return {
    kind: 'valid',
    version: 6,
    text: formatV6(parsed),
    public: isPublicV6(parsed),
    networks: v6Networks(parsed),
  };
}

function v4Facts(v: number): IpFacts {
  const text = formatV4(v);
  const site = text.slice(0, text.lastIndexOf('.'));
  const networks = { host: text, site, region: site.slice(0, site.lastIndexOf('.')) };
  return { kind: 'valid', version: 4, text, public: isPublicV4(v), networks };
}

/** A /64 is one line, whose owner has all of its addresses; a site is given a /48 and a provider a /32 or more. */
export function v6Networks(g: readonly number[]): Networks {
  const prefix = (groups: number): string =>
    `${g
      .slice(0, groups)
      .map((x) => x.toString(16))
      .join(':')}::`;
  return { host: prefix(4), site: prefix(3), region: prefix(2) };
}

/** Dotted decimal without leading zeros, as an unsigned 32-bit number; -1 when it is anything else. */
export function parseV4(text: string): number {
  const length = text.length;
  if (length < 7 || length > 15) return -1;
  let value = 0;
  let part = -1;
  let dots = 0;
  for (let i = 0; i < length; i++) {
    const c = text.charCodeAt(i);
    if (c === 46) {
      if (part < 0 || dots === 3) return -1;
      value = value * 256 + part;
      part = -1;
      dots++;
    } else if (c >= 48 && c <= 57) {
      if (part === 0) return -1;
      part = (part < 0 ? 0 : part) * 10 + (c - 48);
      if (part > 255) return -1;
    } else return -1;
  }
  return dots === 3 && part >= 0 ? value * 256 + part : -1;
}

/** Eight groups of 16 bits; null when it is anything else. */
export function parseV6(text: string): number[] | null {
  if (text.length < 2 || text.length > 45) return null;
  const groups: number[] = [];
  let gapAt = -1;
  let i = 0;
  if (text.startsWith('::')) {
    gapAt = 0;
    i = 2;
  }
  while (i < text.length) {
    if (groups.length === 8) return null;
    const end = groupEnd(text, i);
    if (text.charCodeAt(end) === 46) {
      // The last 32 bits may be written as IPv4.
      const v4 = parseV4(text.slice(i));
      if (v4 < 0 || groups.length > 6) return null;
      groups.push(Math.floor(v4 / 65_536), v4 % 65_536);
      i = text.length;
      break;
    }
    if (end === i || end - i > 4) return null;
    groups.push(Number.parseInt(text.slice(i, end), 16));
    i = end;
    if (i === text.length) break;
    if (text.charCodeAt(i) !== 58) return null;
    i++;
    if (text.charCodeAt(i) === 58) {
      if (gapAt >= 0) return null;
      gapAt = groups.length;
      i++;
    } else if (i === text.length) return null;
  }
  if (gapAt < 0) return groups.length === 8 ? groups : null;
  if (groups.length > 7) return null;
  const missing = 8 - groups.length;
  return [...groups.slice(0, gapAt), ...Array.from({ length: missing }, () => 0), ...groups.slice(gapAt)];
}

function groupEnd(text: string, from: number): number {
  let i = from;
  for (; i < text.length; i++) {
    const c = text.charCodeAt(i);
    const letter = c | 32;
    const hex = (c >= 48 && c <= 57) || (letter >= 97 && letter <= 102);
    if (!hex) break;
  }
  return i;
}

/** The IPv4 address of `::ffff:a.b.c.d`, else -1. Other embeddings name another host's path and are not unwrapped. */
function embeddedV4(g: readonly number[]): number {
  for (let i = 0; i < 5; i++) if (g[i] !== 0) return -1;
  return g[5] === 0xffff ? group(g, 6) * 65_536 + group(g, 7) : -1;
}

function group(g: readonly number[], i: number): number {
  return g[i] ?? 0;
}

export function formatV4(v: number): string {
  return `${v >>> 24}.${(v >>> 16) & 255}.${(v >>> 8) & 255}.${v & 255}`;
}

/** RFC 5952: lower case, the longest run of two or more zero groups as `::`, the first of equals. */
function formatV6(g: readonly number[]): string {
  let bestAt = -1;
  let bestLength = 1;
  for (let i = 0; i < 8; i++) {
    let n = 0;
    while (i + n < 8 && g[i + n] === 0) n++;
    if (n > bestLength) {
      bestAt = i;
      bestLength = n;
    }
    i += n;
  }
  const hex = (from: number, to: number): string =>
    g
      .slice(from, to)
      .map((x) => x.toString(16))
      .join(':');
  return bestAt < 0 ? hex(0, 8) : `${hex(0, bestAt)}::${hex(bestAt + bestLength, 8)}`;
}

/** [network, prefix length] of IPv4 that is not globally reachable. */
const V4_SPECIAL: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

const V4_RANGES = V4_SPECIAL.map(([network, bits]) => {
  const first = parseV4(network);
  return [first, first + 2 ** (32 - bits) - 1] as const;
});

export function isPublicV4(v: number): boolean {
  for (const [first, last] of V4_RANGES) if (v >= first && v <= last) return false;
  return true;
}

function isPublicV6(g: readonly number[]): boolean {
  const first = group(g, 0);
  const second = group(g, 1);
  // NAT64's well-known prefix leads to IPv4: as public as what it wraps.
  if (first === 0x64 && second === 0xff9b && g.slice(2, 6).every((x) => x === 0)) {
    return isPublicV4(group(g, 6) * 65_536 + group(g, 7));
  }
  // Outside 2000::/3 lie loopback, unspecified, mapped, unique local, link local, multicast and what is not assigned.
  if (first >>> 13 !== 1) return false;
  if (first === 0x2001 && second < 0x200) return false; // 2001::/23 with Teredo, benchmarking and ORCHID
  if (first === 0x2001 && second === 0xdb8) return false; // documentation
  if (first === 0x3fff && second < 0x1000) return false; // documentation
  if (first === 0x2002) return isPublicV4(second * 65_536 + group(g, 2)); // 6to4: as public as what it wraps
  return true;
}
