import { DECISION_BLOCK_BYTES_MAX, DECISION_BLOCK_BYTES_MIN } from '../../kernel/history-limits.ts';
import { SUM_BYTES } from '../../state/tables/value.ts';

/** Capacity of each buffer class in bytes of rows; each buffer has room for a check sum after them. */
const CLASSES = [
  DECISION_BLOCK_BYTES_MIN,
  Math.sqrt(DECISION_BLOCK_BYTES_MIN * DECISION_BLOCK_BYTES_MAX),
  DECISION_BLOCK_BYTES_MAX,
] as const;

/** Choice: buffers kept for reuse per class; as many as a busy second fills. */
const KEPT_MAX = 64;

/**
 * Buffer pool for blocks: allocating 10 MB/s of buffers would by itself trigger garbage collections. `heldBytes` is the memory in use.
 */
export class Buffers {
  heldBytes = 0;
  readonly #kept: Buffer[][] = CLASSES.map(() => []);

  /** Returns the smallest buffer for this many bytes of rows; null if none is large enough. */
  take(bytes: number): Buffer | null {
    for (const [i, capacity] of CLASSES.entries()) {
      if (bytes > capacity) continue;
      const buffer = this.#kept[i]?.pop() ?? Buffer.allocUnsafeSlow(capacity + SUM_BYTES);
      this.heldBytes += buffer.length;
      return buffer;
    }
    return null;
  }

  /** Returns a buffer to the pool; nothing may read or write it afterwards. */
  release(buffer: Buffer): void {
    this.heldBytes -= buffer.length;
    const kept = this.#kept[CLASSES.findIndex((capacity) => capacity + SUM_BYTES === buffer.length)];
    if (kept !== undefined && kept.length < KEPT_MAX) kept.push(buffer);
  }
}
