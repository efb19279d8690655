import { formatV4, formatV6, parseV4, parseV6 } from '../kernel/ip-text.ts';

/** Returns the networks that have exactly the addresses of a range, in CIDR notation; null if the texts are no range. */
export function networksOfRange(first: string, last: string): readonly string[] | null {
  const from = numberOf(first);
  const to = numberOf(last);
  if (from === null || to === null || from.bits !== to.bits || from.value > to.value) return null;
  const { bits } = from;
  const networks: string[] = [];
  for (let at = from.value; at <= to.value;) {
    let size = 0;
    // The largest block that begins here and ends in the range.
    while (size < bits && (at >> BigInt(size)) % 2n === 0n && at + (1n << BigInt(size + 1)) - 1n <= to.value) size += 1;
    networks.push(`${textOf(at, bits)}/${bits - size}`);
    at += 1n << BigInt(size);
  }
  return networks;
}

function numberOf(text: string): { readonly bits: 32 | 128; readonly value: bigint } | null {
  const v4 = parseV4(text);
  if (v4 >= 0) return { bits: 32, value: BigInt(v4) };
  const groups = parseV6(text);
  return groups && { bits: 128, value: groups.reduce((sum, group) => sum * 65_536n + BigInt(group), 0n) };
}

function textOf(value: bigint, bits: 32 | 128): string {
  if (bits === 32) return formatV4(Number(value));
  return formatV6(Array.from({ length: 8 }, (_, n) => Number((value >> BigInt(16 * (7 - n))) & 0xffffn)));
}
