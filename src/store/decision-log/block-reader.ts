import type { Database } from 'lmdb';
import { sumFits } from '../value.ts';
import { type Block, newRowView, readRow, type RowView } from './block.ts';

/** Reads the rows of blocks, wherever they are. What cannot be read is passed over and counted; nothing throws. */
export class BlockReader {
  /** Blocks that could not be read, or only in part. */
  damaged = 0;
  readonly #table: Database<Buffer, Buffer>;
  readonly #row = newRowView();

  constructor(table: Database<Buffer, Buffer>) {
    this.#table = table;
  }

  /** The bytes of its rows, borrowed until the next call or the next turn of the event loop; null where there are none. */
  bytesOf(block: Block): Buffer | null {
    if (block.isGone) return null;
    if (block.buffer !== null) return block.buffer.subarray(0, block.end);
    try {
      const stored = block.key === null ? undefined : this.#table.getBinaryFast(block.key);
      if (block.key !== null && stored !== undefined && sumFits(block.key, stored))
        return stored.subarray(0, block.end);
    } catch {
      // LMDB says so of a page that is not what it should be.
    }
    this.countDamaged(block);
    return null;
  }

  /** Shows each row; `visit` gets the same object again and again, and ends the walk with true. Says whether it did. */
  walk(block: Block, bytes: Buffer, visit: (row: RowView) => boolean): boolean {
    const row = this.#row;
    let at = 0;
    while (at < bytes.length) {
      at = readRow(bytes, at, bytes.length, block.firstArrival, row);
      if (at === -1) {
        this.countDamaged(block);
        return false;
      }
      if (visit(row)) return true;
    }
    return false;
  }

  countDamaged(block: Block): void {
    if (block.isDamaged) return;
    block.isDamaged = true;
    this.damaged++;
  }
}
