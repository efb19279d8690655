import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { isTestCustomer } from '../../kernel/test-customers.ts';
import type { DecisionRecord } from '../../risk/decision-record.ts';
import { type Block, decodeKey } from './block.ts';
import { BlockReader } from './block-reader.ts';
import { unpackRecord } from './match.ts';

export interface RowQuery {
  /** null for all customers; then those of test keys are left out. */
  readonly customer: CustomerNumber | null;
  /** Decisions of this time and later, Unix ms. */
  readonly sinceMs: number;
}

export type RowVisitor = (customer: CustomerNumber, record: DecisionRecord) => void;

/**
 * Passes the stored decisions to a command that runs alongside a server, which writes new ones several times a second. Writes nothing. Rows
 * come block by block, in no particular order; yields after each block, so that the command can wait for its output. Returns how many
 * blocks could not be read.
 */
export function* readDecisionRows(
  table: Database<Buffer, Buffer>,
  { customer, sinceMs }: RowQuery,
  visit: RowVisitor,
): Generator<undefined, number> {
  const reader = new BlockReader(table);
  const read = (block: Block): void => {
    const isOther = customer === null ? isTestCustomer(block.customer) : block.customer !== customer;
    if (block.newestMs < sinceMs || isOther) return;
    const bytes = reader.bytesOf(block);
    if (bytes === null) return;
    // Copied, because the visitor may read other rows of the store.
    const own = Buffer.from(bytes);
    reader.walk(block, own, (row) => {
      if (row.occurredAtMs < sinceMs) return false;
      const record = unpackRecord(own, row.recordAt, row.recordEnd);
      if (record === null) reader.countDamaged(block);
      else visit(block.customer, record);
      return false;
    });
  };
  let last: Block | null = null;
  // The keys are read at once, because a range must not stay open while the command waits. Measured: 365 bytes a block.
  for (const block of [...table.getKeys()].map((key) => decodeKey(key))) {
    if (block === null) continue;
    // A crash may leave an older version of the same block, which precedes it in key order.
    const isSame =
      last?.customer === block.customer && last.stream === block.stream && last.firstArrival === block.firstArrival;
    if (last !== null && !isSame) {
      read(last);
      yield;
    }
    last = block;
  }
  if (last !== null) read(last);
  return reader.damaged;
}
