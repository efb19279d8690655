import {
  HEAD_EVICTED,
  HEAD_GROUPS,
  HEAD_LOST,
  HEAD_MADE,
  HEAD_PUBLIC,
  HEAD_REFUSED,
  HEAD_USED,
  HEAD_WORDS,
  WAYS,
} from './layout.ts';
import type { VelocityMemory } from './memory.ts';

export interface VelocityStats {
  readonly bytes: number;
  /** Records that the table has room for. */
  readonly capacity: number;
  /** Records in use; those that no window needs any more stay until their place is wanted. */
  readonly used: number;
  /** Records made since the table was. */
  readonly made: number;
  /** Records thrown out although they still counted: the table is too small for the traffic, or under attack. */
  readonly evicted: number;
  /** Counts that were not taken in because workers stood in each other's way. */
  readonly lost: number;
  /** Records in use that requests of public keys made. */
  readonly publicUsed: number;
  /** Records that were not made because a customer, or public keys, had their share of a full table. */
  readonly refused: number;
}

/** For metrics; seven words are read. */
export function readVelocityStats({ words }: VelocityMemory): VelocityStats {
  const head = new Uint32Array(words, 0, HEAD_WORDS);
  const read = (at: number): number => Atomics.load(head, at);
  return {
    bytes: words.byteLength,
    capacity: read(HEAD_GROUPS) * WAYS,
    used: read(HEAD_USED),
    made: read(HEAD_MADE),
    evicted: read(HEAD_EVICTED),
    lost: read(HEAD_LOST),
    publicUsed: read(HEAD_PUBLIC),
    refused: read(HEAD_REFUSED),
  };
}
