import { DECISION_BLOCK_BYTES_MAX, DECISION_BLOCK_BYTES_MIN } from '../../limits.ts';
import { SUM_BYTES } from '../value.ts';

/** Rows fit into so many bytes, by class of buffer; each has room for its check sum behind them. */
const CLASSES = [
  DECISION_BLOCK_BYTES_MIN,
  Math.sqrt(DECISION_BLOCK_BYTES_MIN * DECISION_BLOCK_BYTES_MAX),
  DECISION_BLOCK_BYTES_MAX,
] as const;

/** Choice: buffers kept for further use, of each class; what a busy second fills. */
const KEPT_MAX = 64;

/**
 * The memory of blocks, used again and again: fresh buffers at 10 MB/s would make the collector run for nothing else.
 * `heldBytes` is what is in use.
 */
export class Buffers {
  heldBytes = 0;
  readonly #kept: Buffer[][] = CLASSES.map(() => []);

  /** The smallest one that takes so many bytes of rows; null where none does. */
  take(bytes: number): Buffer | null {
    for (const [i, capacity] of CLASSES.entries()) {
      if (bytes > capacity) continue;
      const buffer = this.#kept[i]?.pop() ?? Buffer.allocUnsafeSlow(capacity + SUM_BYTES);
      this.heldBytes += buffer.length;
      return buffer;
    }
    return null;
  }

  /** Nothing may read or write it any more. */
  release(buffer: Buffer): void {
    this.heldBytes -= buffer.length;
    const kept = this.#kept[CLASSES.findIndex((capacity) => capacity + SUM_BYTES === buffer.length)];
    if (kept !== undefined && kept.length < KEPT_MAX) kept.push(buffer);
  }
}
