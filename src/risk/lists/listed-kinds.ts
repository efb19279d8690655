import { codeOfListKind, type ListKeyParts } from './list-key.ts';

/**
 * Which kinds of values a customer lists, and which lengths of networks and of beginnings of user agents: a decision looks up those only.
 * Bits are set by a new entry, and cleared only when the customer's last entry goes: one that stays costs a look-up.
 *
 *   u16       bit n: kind with code n
 *   5 bytes   bit n: IPv4 networks of n bits
 *   17 bytes  bit n: IPv6 networks of n bits
 *   128 bytes bit n: beginnings of user agents of n characters
 */
export const LISTED_KINDS_BYTES = 2 + 5 + 17 + 128;
const V4_AT = 2;
const V6_AT = 7;
const AGENTS_AT = 24;

const NETWORK = codeOfListKind('network');
const AGENT = codeOfListKind('user_agent');

/** Sets the bits of a key. Returns whether one of them was not set. */
export function noteListedKind(bytes: Buffer, { code, detail }: ListKeyParts): boolean {
  const isNew = setBit(bytes, 0, code);
  if (code === NETWORK) return setBit(bytes, detail >> 8 === 4 ? V4_AT : V6_AT, detail & 255) || isNew;
  if (code === AGENT && detail > 0) return setBit(bytes, AGENTS_AT, detail) || isNew;
  return isNew;
}

function setBit(bytes: Buffer, from: number, bit: number): boolean {
  const at = from + (bit >> 3);
  const before = bytes[at] ?? 0;
  bytes[at] = before | (1 << (bit & 7));
  return bytes[at] !== before;
}

export interface ListedKinds {
  has(code: number): boolean;
  /** Bits of IPv4 and IPv6 networks, from the most. */
  readonly v4: readonly number[];
  readonly v6: readonly number[];
  /** Characters of beginnings of user agents, from the most. */
  readonly agents: readonly number[];
}

/** Reads a stored row; one of another length says nothing. */
export function readListedKinds(bytes: Buffer): ListedKinds {
  const kinds = bytes.length < LISTED_KINDS_BYTES ? 0 : bytes.readUInt16LE(0);
  const bitsAt = (from: number, to: number): readonly number[] => {
    const bits: number[] = [];
    for (let bit = (to - from) * 8 - 1; bit >= 0; bit--)
      if (((bytes[from + (bit >> 3)] ?? 0) & (1 << (bit & 7))) !== 0) bits.push(bit);
    return bits;
  };
  return {
    has: (code) => (kinds & (1 << code)) !== 0,
    v4: bitsAt(V4_AT, V6_AT),
    v6: bitsAt(V6_AT, AGENTS_AT),
    agents: bitsAt(AGENTS_AT, LISTED_KINDS_BYTES),
  };
}
