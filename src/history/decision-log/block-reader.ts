import type { Database } from 'lmdb';
import { sumFits } from '../../state/tables/value.ts';
import { type Block, newRowView, readRow, ROW_HEAD_BYTES, rowEnd, type RowView } from './block.ts';

/** Reads the rows of blocks, in memory or in the store. Unreadable blocks are skipped and counted; nothing throws. */
export class BlockReader {
  /** Blocks that could not be read, or only in part. */
  damaged = 0;
  readonly #table: Database<Buffer, Buffer>;
  readonly #row = newRowView();

  constructor(table: Database<Buffer, Buffer>) {
    this.#table = table;
  }

  /** Returns the bytes of its rows, valid until the next call or the next turn of the event loop; null if there are none. */
  bytesOf(block: Block): Buffer | null {
    if (block.isGone) return null;
    if (block.buffer !== null) return block.buffer.subarray(0, block.end);
    try {
      const stored = block.key === null ? undefined : this.#table.getBinaryFast(block.key);
      if (block.key !== null && stored !== undefined && sumFits(block.key, stored))
        return stored.subarray(0, block.end);
    } catch {
      // LMDB throws this for a corrupt page.
    }
    this.countDamaged(block);
    return null;
  }

  /** Passes each row to `visit`, reusing the same object. Stops when `visit` returns true, and returns whether it did. */
  walk(block: Block, bytes: Buffer, visit: (row: RowView) => boolean): boolean {
    return this.walkFrom(block, bytes, 0, visit) !== null;
  }

  /** Does the same from a row's position on; returns the position of the row after the one at which it stopped, null at the end. */
  walkFrom(block: Block, bytes: Buffer, from: number, visit: (row: RowView) => boolean): number | null {
    const row = this.#row;
    let at = from;
    while (at < bytes.length) {
      at = readRow(bytes, at, bytes.length, block.firstArrival, row);
      if (at === -1) {
        this.countDamaged(block);
        return null;
      }
      if (visit(row)) return at;
    }
    return null;
  }

  /** Passes the rows that `isSought` selects by where their record begins and ends, without reading their heads. */
  walkRecords(
    block: Block,
    bytes: Buffer,
    isSought: (bytes: Buffer, from: number, end: number) => boolean,
    visit: (row: RowView) => void,
  ): void {
    for (let at = 0; at < bytes.length;) {
      const end = rowEnd(bytes, at);
      if (end > bytes.length) return this.countDamaged(block);
      if (isSought(bytes, at + ROW_HEAD_BYTES, end)) {
        readRow(bytes, at, bytes.length, block.firstArrival, this.#row);
        visit(this.#row);
      }
      at = end;
    }
  }

  countDamaged(block: Block): void {
    if (block.isDamaged) return;
    block.isDamaged = true;
    this.damaged++;
  }
}
