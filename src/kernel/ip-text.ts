/** Parses and writes IP addresses. Hand-written, because it is on the hot path of every request. */

/** Parses dotted decimal without leading zeros into an unsigned 32-bit number; returns -1 for anything else. */
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

/** Parses eight groups of 16 bits; returns null for anything else. */
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

export function formatV4(v: number): string {
  return `${v >>> 24}.${(v >>> 16) & 255}.${(v >>> 8) & 255}.${v & 255}`;
}

/** RFC 5952: lower case, the longest run of two or more zero groups as `::`, the first one on a tie. */
export function formatV6(g: readonly number[]): string {
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

/** Returns the mask of an IPv6 group at this position for a prefix of `bits` bits. */
export function maskOf(at: number, bits: number): number {
  const kept = Math.min(16, Math.max(0, bits - at * 16));
  return (0xffff << (16 - kept)) & 0xffff;
}

/** Choice: longer than any element of `Forwarded` that names an address. */
const NODE_CHARACTERS_MAX = 256;
/** A number, or the obfuscated port of RFC 7239. */
const PORT = '(?::(?:\\d{1,5}|_[\\w.-]+))?';
const ZONE = '(?:%[^\\]]*)?';
const NODE_FORMS = [
  new RegExp(`^\\[([0-9a-f:.]+)${ZONE}\\]${PORT}$`, 'i'),
  new RegExp(`^((?:[0-9a-f:]*:)?\\d+\\.\\d+\\.\\d+\\.\\d+)${PORT}$`, 'i'),
  new RegExp(`^([0-9a-f:.]+)${ZONE}$`, 'i'),
] as const;

/**
 * Returns the address in what a proxy or a platform writes for a node (RFC 7239, 6): with a port, in brackets, in quotes, as `for=…`, or
 * with a zone, which names an interface of one machine. Any other text, such as `unknown` or `_hidden`, is returned without the spaces
 * around it. Whether the result is an address is for the caller to find out.
 */
export function addressOfNode(text: string): string {
  const plain = text.trim();
  if (plain.length > NODE_CHARACTERS_MAX) return plain;
  const pair = plain.split(';').find((one) => /^\s*for=/i.test(one)) ?? plain;
  const value = pair.trim().replace(/^for=/i, '');
  const node = value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value;
  for (const form of NODE_FORMS) {
    const address = form.exec(node)?.[1];
    if (address !== undefined) return address;
  }
  return plain;
}
