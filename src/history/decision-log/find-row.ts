import type { Block } from './block.ts';
import type { BlockReader } from './block-reader.ts';
import { unpackRecord } from './match.ts';
import { hasId } from './record-head.ts';
import type { LoggedDecision } from './search.ts';

/** Finds one decision by its id, whose first characters are its time. */

/** A decision, and the number that orders it by when it was logged. */
export interface Located {
  readonly found: LoggedDecision;
  readonly arrival: number;
  /** The record's own copy. */
  readonly bytes: Buffer;
}

/** Returns the row with that id in one of the blocks, which are in the order of time; null if none has it. */
export function findSealed(
  reader: BlockReader,
  sealed: readonly Block[],
  id: Buffer,
  occurredAtMs: number,
): Located | null {
  for (let at = sealed.length - 1; at >= 0; at--) {
    const block = sealed[at];
    if (block === undefined || block.newestMs < occurredAtMs) return null;
    if (block.oldestMs > occurredAtMs) continue;
    const found = findIn(reader, block, id, occurredAtMs);
    if (found !== null) return found;
  }
  return null;
}

/** Returns the row with that id; null if the block does not have it. */
export function findIn(reader: BlockReader, block: Block, id: Buffer, occurredAtMs: number): Located | null {
  if (block.oldestMs > occurredAtMs || block.newestMs < occurredAtMs) return null;
  const bytes = reader.bytesOf(block);
  if (bytes === null) return null;
  let found: Located | null = null;
  reader.walk(block, bytes, (row) => {
    if (row.occurredAtMs !== occurredAtMs || !hasId(bytes, row.recordAt, row.recordEnd, id)) return false;
    const own = Buffer.from(bytes.subarray(row.recordAt, row.recordEnd));
    const record = unpackRecord(own, 0, own.length);
    if (record !== null) found = { found: { record, latencyMs: row.latencyMs }, arrival: row.arrival, bytes: own };
    return true;
  });
  return found;
}

const REQUEST_ID = /^req_([0-9A-HJKMNP-TV-Z]{10})[0-9A-HJKMNP-TV-Z]{16}$/;
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Returns when the decision with that id was made, from the id's first ten characters; null if it is no decision id. */
export function rowTimeOfId(requestId: string): number | null {
  const stamp = REQUEST_ID.exec(requestId)?.[1];
  if (stamp === undefined) return null;
  let ms = 0;
  for (const digit of stamp) ms = ms * 32 + CROCKFORD.indexOf(digit);
  return ms;
}
