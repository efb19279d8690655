import type { Database } from 'lmdb';
import { messageOf } from '../../state/tables/durable.ts';
import type { Slices } from '../../state/tables/turns.ts';
import { withSum } from '../../state/tables/value.ts';
import type { Block } from './block.ts';
import type { BlockReader } from './block-reader.ts';
import type { BlockWriter } from './block-writer.ts';
import { eraseRecord } from './erase-record.ts';
import type { CustomerLog } from './log-index.ts';
import { linkAt, linkCount } from './row-links.ts';
import type { RowView } from './block.ts';

/** Rows about a person: those with a link that `isMarked` recognises, and not later than `untilMs`. */
export interface PersonRows {
  /** Is asked about the hash of a link, which begins at `at`. */
  readonly isMarked: (bytes: Buffer, at: number) => boolean;
  readonly untilMs: number;
}

/** Takes a stored record and where it ends. */
export type RecordVisitor = (bytes: Buffer, from: number, end: number) => void;

interface LogParts {
  readonly reader: BlockReader;
  readonly slices: Slices;
}

/** Passes the rows about a person, in slices. The bytes are borrowed. */
export async function visitPersonRows(
  log: CustomerLog,
  { isMarked, untilMs }: PersonRows,
  { reader, slices }: LogParts,
  visit: (block: Block, bytes: Buffer, row: RowView) => void,
): Promise<void> {
  const isAbout = (bytes: Buffer, from: number, end: number): boolean => {
    const count = linkCount(bytes, from, end);
    for (let n = 0; n < count; n++) if (isMarked(bytes, linkAt(end, count, n))) return true;
    return false;
  };
  for (const block of [...log.sealed.flat(), ...log.open]) {
    if (slices.isOver) await slices.begin();
    const bytes = block === null || block.oldestMs > untilMs ? null : reader.bytesOf(block);
    if (block === null || bytes === null) continue;
    reader.walkRecords(block, bytes, isAbout, (row) => {
      if (row.occurredAtMs <= untilMs) visit(block, bytes, row);
    });
  }
}

/**
 * Erases rows in the blocks of a log. A stored block is written again under its key; one in memory is changed there and written with its
 * next write. Returns the number of rows. Throws if the disk accepts no write.
 */
export async function erasePersonRows(
  log: CustomerLog,
  rows: PersonRows,
  parts: LogParts & { readonly table: Database<Buffer, Buffer>; readonly writer: BlockWriter },
): Promise<number> {
  const { table, writer } = parts;
  const found = new Map<Block, { readonly from: number; readonly end: number }[]>();
  await visitPersonRows(log, rows, parts, (block, _bytes, { recordAt: from, recordEnd: end }) => {
    const ofBlock = found.get(block) ?? [];
    found.set(block, ofBlock);
    ofBlock.push({ from, end });
  });
  let erased = 0;
  for (const [block, ranges] of found) {
    // A sealed block in memory is on its way to the disk, with a checksum of its rows.
    for (let tries = 0; block.isSealed && block.buffer !== null && tries < WRITES_AWAITED; tries++)
      await writer.write();
    if (parts.slices.isOver) await parts.slices.begin();
    const { buffer, key } = block;
    if (block.isGone) continue;
    if (buffer !== null) {
      if (block.isSealed) throw new Error(writer.broken ?? 'the decision log is not written');
      for (const { from, end } of ranges) if (eraseRecord(buffer, from, end)) erased++;
      if (!block.isWaiting) writer.add(block);
      continue;
    }
    const stored = parts.reader.bytesOf(block);
    if (stored === null || key === null) continue;
    const bytes = Buffer.from(stored);
    for (const { from, end } of ranges) if (eraseRecord(bytes, from, end)) erased++;
    await table.put(key, withSum(key, bytes)).catch((error: unknown) => {
      throw new Error(`the decision log was not written: ${messageOf(error)}`);
    });
    if (block.isGone) await table.remove(key);
  }
  await writer.write();
  return erased;
}

/** Choice: a write takes some milliseconds; the second one begins after it. */
const WRITES_AWAITED = 5;
