import type { Slices } from '../../state/tables/turns.ts';
import type { Block } from './block.ts';
import type { BlockReader } from './block-reader.ts';
import { BlockWalk } from './block-walk.ts';
import type { RecordMatch } from './field-match.ts';
import type { CustomerLog } from './log-index.ts';
import { unpackRecord } from './match.ts';
import { RawRecord } from './raw-record.ts';
import { isWantedRow, type WantedRows } from './search.ts';

export interface Scanned {
  /** Number of rows passed to the visitor. */
  readonly rows: number;
  /** There are older rows in the range. */
  readonly isTruncated: boolean;
  readonly oldestMs: number | null;
}

/** What has the bytes of a row: a block of this log, or the buffer itself for a row of another node. */
export type RowSource = Block | Buffer;

/** Where a row is, to be read again in the same call of the log. */
export interface RowPlace {
  readonly block: RowSource;
  readonly at: number;
  readonly end: number;
}

/**
 * Returns true if it needs no further block. The record and the bytes are borrowed: valid until it returns. `bytes` has the record from
 * `at` to `end`.
 */
export type RowScanner = (
  record: RawRecord,
  bytes: Buffer,
  at: number,
  end: number,
  occurredAtMs: number,
  block: RowSource,
) => boolean;

/** Choice: rows between two looks at the clock, which costs as much as a plain row. */
const CLOCK_ROWS = 8;

/**
 * Passes the newest rows to a visitor, block by block, the newest block first; within a block the oldest row comes first. Reads whole
 * blocks, so it may pass up to a block more than `rowsMax`. Rows of older builds are not passed. It yields within a block too: a block has
 * hundreds of rows, and a visitor may take microseconds for each.
 */
export async function scanRows(
  log: CustomerLog,
  wanted: WantedRows,
  rowsMax: number,
  reader: BlockReader,
  slices: Slices,
  visit: RowScanner,
): Promise<Scanned> {
  const walk = new BlockWalk(log, wanted);
  const record = new RawRecord();
  let rows = 0;
  let looked = 0;
  let oldestMs: number | null = null;
  let isEnough = false;
  const scanBlock = async (block: Block): Promise<void> => {
    for (let from: number | null = 0; from !== null;) {
      // Read again after each pause: the block may have been written or removed meanwhile.
      const bytes = reader.bytesOf(block);
      if (bytes === null) return;
      from = reader.walkFrom(block, bytes, from, (row) => {
        const { recordAt, recordEnd, occurredAtMs } = row;
        const isSought =
          isWantedRow(row, block, wanted) &&
          record.read(bytes, recordAt, recordEnd) &&
          (wanted.text === null || hasText(bytes, recordAt, recordEnd, wanted.text));
        if (isSought) {
          rows++;
          oldestMs = Math.min(oldestMs ?? occurredAtMs, occurredAtMs);
          isEnough = visit(record, bytes, recordAt, recordEnd, occurredAtMs, block) || isEnough;
        }
        return ++looked % CLOCK_ROWS === 0 && slices.isOver;
      });
      if (from !== null) await slices.begin();
    }
  };
  for (;;) {
    const isOver = walk.newest() === null;
    if (isOver || isEnough || rows >= rowsMax) return { rows, isTruncated: !isOver, oldestMs };
    const block = walk.next();
    if (block !== null) await scanBlock(block);
    if (slices.isOver) await slices.begin();
  }
}

function hasText(bytes: Buffer, at: number, end: number, text: RecordMatch): boolean {
  if (!text.mayMatchRecord(bytes, at, end)) return false;
  const record = unpackRecord(bytes, at, end);
  return record !== null && text.matches(record);
}
