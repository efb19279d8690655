import type { NonceUse } from '../risk/history.ts';
import type { EventKeys } from './event-keys.ts';
import { KIND_HOUR_SET } from './layout.ts';
import type { Table } from './table.ts';

/**
 * The tokens of one nonce that were used, in a sliding window of at least 112 sequence numbers, like the anti-replay window of IPsec.
 *
 *   0 hash   1-8 windows: sequence number / 16, 16 bits << 16 | one bit for each of these 16 numbers   9-31 unused
 *
 * A block of 16 numbers has one word, which a later block takes over. Each word is changed by compare-and-swap and is meaningful by itself,
 * so exactly one of several uses of a token is the first one, in whatever workers they arrive.
 *
 * A record is needed for as long as its grant can be used, 35 minutes. Direction of failure: open. Without a record, no token is a replay.
 */
const AT_WINDOWS = 1;
const WINDOWS = 8;
const BLOCK_BITS = 4;
const BLOCK_MASK = 2 ** BLOCK_BITS - 1;
const BITS_MASK = 0xffff;
/** Choice: more than the number of workers that could change one word at the same time. */
const TRIES_MAX = 64;

export class NonceRecords {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /** Notes the use of a token. Returns whether it was used before, or is too old to know. */
  isUsed({ nonceLow, nonceHigh }: EventKeys, { seq }: NonceUse, nowSeconds: number): boolean {
    const table = this.#table;
    const record = table.take(nonceLow, nonceHigh, KIND_HOUR_SET, nowSeconds);
    if (record === 0) return false;
    const block = seq >>> BLOCK_BITS;
    const bit = 1 << (seq & BLOCK_MASK);
    const at = record + AT_WINDOWS + (block % WINDOWS);
    const { words } = table;
    for (let n = 0; n < TRIES_MAX; n++) {
      const word = words[at] ?? 0;
      const held = word >>> 16;
      if (held > block || (held === block && (word & bit) !== 0)) return true;
      const next = ((block << 16) | (held === block ? word & BITS_MASK : 0) | bit) >>> 0;
      if (Atomics.compareExchange(words, at, word, next) === word) return false;
    }
    table.lose();
    return false;
  }
}
