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
  /** Number of records that the table has room for. */
  readonly capacity: number;
  /** Records in use; expired ones stay until their slot is needed. */
  readonly used: number;
  /** Records created since the table was created. */
  readonly made: number;
  /** Records evicted although they still counted: the table is too small for the traffic, or under attack. */
  readonly evicted: number;
  /** Updates lost to compare-and-swap contention. */
  readonly lost: number;
  /** Records in use that were created by requests with public keys. */
  readonly publicUsed: number;
  /** Records refused because a customer, or public keys together, had used up their share of a full table. */
  readonly refused: number;
}

/** For metrics; reads seven words. */
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
