import { LINK_HASH_BYTES } from '../../risk/decision-links.ts';
import { LINKS_MAX } from '../../risk/link-tail.ts';
import type { DecisionRecord } from '../../risk/decision-record.ts';

/**
 * Reads the hashes of a record's links without unpacking it: they are its last bytes, and the last one is their number
 * (`src/risk/link-tail.ts`).
 */
const ARRAY_16 = 0xdc;
/** Fields of a record with links. */
const FIELDS = 20;

/** What a search follows: a link's hash, and how to recognise it in a record of an older build, which has no hashes. */
export interface LinkTarget {
  /** `LINK_HASH_BYTES`. */
  readonly hash: Buffer;
  /** Returns whether an unpacked record without hashes has the link. */
  readonly isIn: (record: DecisionRecord) => boolean;
}

/** Returns the number of links of the record in `bytes` from `from` to `end`; -1 if it is of an older build. */
export function linkCount(bytes: Buffer, from: number, end: number): number {
  if (bytes[from] !== ARRAY_16 || bytes[from + 1] !== 0 || bytes[from + 2] !== FIELDS) return -1;
  const count = bytes[end - 1] ?? 0;
  // A record without links ends with a null, which is no number of links.
  return count <= LINKS_MAX && end - 1 - count * LINK_HASH_BYTES > from ? count : 0;
}

/** Returns where the hash of the record's `n`-th link begins. */
export function linkAt(end: number, count: number, n: number): number {
  return end - 1 - (count - n) * LINK_HASH_BYTES;
}

/** Returns whether a record that has hashes has this link. */
export function hasLink(bytes: Buffer, end: number, count: number, { hash }: LinkTarget): boolean {
  const first = hash[0];
  for (let at = end - 1 - count * LINK_HASH_BYTES; at < end - 1; at += LINK_HASH_BYTES) {
    if (bytes[at] === first && hash.compare(bytes, at, at + LINK_HASH_BYTES) === 0) return true;
  }
  return false;
}

/** Returns whether a record may have this link: it has, or it is of an older build. */
export function mayHaveLink(bytes: Buffer, from: number, end: number, link: LinkTarget): boolean {
  const count = linkCount(bytes, from, end);
  return count === -1 || hasLink(bytes, end, count, link);
}
