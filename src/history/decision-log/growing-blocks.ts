import type { CustomerNumber } from '../../kernel/brand.ts';
import { SUM_BYTES } from '../../state/tables/value.ts';
import { ARRIVAL_SPAN_MAX, type Block, type Stream } from './block.ts';
import type { BlockWriter } from './block-writer.ts';
import type { Buffers } from './buffers.ts';
import type { DecisionLogBounds } from './log-bounds.ts';
import type { CustomerLog, LogIndex } from './log-index.ts';

interface GrowingBlocksParts {
  readonly index: LogIndex;
  readonly buffers: Buffers;
  readonly writer: BlockWriter;
  readonly bounds: DecisionLogBounds;
  readonly onSealed: (customer: CustomerNumber) => void;
}

/** The blocks in memory that still take rows, one for each customer and stream, within the bounds of their number and memory. */
export class GrowingBlocks {
  /** Rows of blocks that were dropped because the disk accepts no writes. */
  dropped = 0;
  readonly #parts: GrowingBlocksParts;
  /** The one that has grown longest first. */
  readonly #open = new Set<Block>();

  constructor(parts: GrowingBlocksParts) {
    this.#parts = parts;
  }

  /** Returns the block that receives a row of this size. */
  blockFor(log: CustomerLog, stream: Stream, bytes: number, arrival: number): Block {
    const { index, bounds } = this.#parts;
    const open = log.open[stream];
    if (open !== null) {
      const isFull = open.rows >= bounds.blockRowsMax || arrival - open.firstArrival > ARRIVAL_SPAN_MAX;
      if (!isFull && this.#makeRoom(open, open.end + bytes)) return open;
      this.#seal(open);
    }
    const eldest = this.#open.size < bounds.openBlocksMax ? undefined : this.#open.values().next().value;
    if (eldest !== undefined) this.#seal(eldest);
    const block = index.open(log, stream, arrival);
    this.#open.add(block);
    this.#makeRoom(block, bytes);
    return block;
  }

  /** Seals the blocks with unwritten rows that are large enough to be written once. */
  sealLarge(): void {
    for (const block of this.#open) {
      if (block.isWaiting && block.end >= this.#parts.bounds.blockBytesMin) this.#seal(block);
    }
  }

  /** Removes a block that has left the index, growing or not. */
  remove(block: Block): void {
    this.#open.delete(block);
    this.#parts.writer.remove(block);
  }

  /** Returns whether the block's buffer has room for this many bytes, moving the block to a larger buffer if necessary. */
  #makeRoom(block: Block, bytes: number): boolean {
    const { buffers, bounds } = this.#parts;
    const before = block.buffer;
    if (before !== null && bytes + SUM_BYTES <= before.length) return true;
    const buffer = buffers.take(bytes);
    if (buffer === null) return false;
    if (before !== null) {
      before.copy(buffer, 0, 0, block.end);
      buffers.release(before);
    }
    block.buffer = buffer;
    while (buffers.heldBytes > bounds.pendingBytesMax) if (!this.#dropOldest()) break;
    return true;
  }

  /** Drops the oldest pending block, because the disk accepts no writes. */
  #dropOldest(): boolean {
    const block = this.#parts.writer.takeOldest();
    if (block === null) return false;
    this.dropped += block.rows;
    this.#parts.index.remove(block);
    this.remove(block);
    return true;
  }

  #seal(block: Block): void {
    const { index, writer, onSealed } = this.#parts;
    this.#open.delete(block);
    index.seal(index.obtain(block.customer), block);
    onSealed(block.customer);
    // The block is written, and no row was added since.
    if (!block.isWaiting) writer.release(block);
  }
}
