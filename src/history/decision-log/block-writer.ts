import type { Database } from 'lmdb';
import { STORE_WRITE_MS_MAX } from '../../kernel/limits.ts';
import { lackOfRoom } from '../../state/tables/disk-room.ts';
import { messageOf, reasonOf } from '../../state/tables/durable.ts';
import type { Block } from './block.ts';
import type { Buffers } from './buffers.ts';

/** Choice: the first pause after a failed write, and the longest; each pause is twice the previous one. */
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 60_000;

/**
 * Writes blocks off the hot path. LMDB gets one write at a time, which its own thread copies and commits; blocks that arrive meanwhile
 * wait here. Nothing waits for the disk: a power failure loses the last second.
 *
 * Failure direction: open. A failed write is retried, though LMDB may refuse all further writes until the process ends. The blocks
 * of a stuck write stay readable until the process ends.
 */
export class BlockWriter {
  readonly #table: Database<Buffer, Buffer>;
  readonly #buffers: Buffers;
  #waiting: Block[] = [];
  /** Keys of removed blocks. */
  #removals: Buffer[] = [];
  #inFlight: ReadonlySet<Block> = new Set();
  #writing: Promise<void> | null = null;
  #writingSinceMs = 0;
  #retryAtMs = 0;
  #retryMs = RETRY_MS_MIN;
  #failure: string | null = null;

  constructor(table: Database<Buffer, Buffer>, buffers: Buffers) {
    this.#table = table;
    this.#buffers = buffers;
  }

  /** Returns why nothing can be written; null if writes work. */
  get broken(): string | null {
    if (this.#isStuck) return `a write has not been committed for over ${STORE_WRITE_MS_MAX} ms`;
    return this.#failure;
  }

  /** The write in LMDB will not return; only a new process recovers. */
  get #isStuck(): boolean {
    return this.#writing !== null && performance.now() - this.#writingSinceMs > STORE_WRITE_MS_MAX;
  }

  get isIdle(): boolean {
    return this.#writing === null && this.#waiting.length === 0 && this.#removals.length === 0;
  }

  /** Queues a block that has rows not yet in the store. */
  add(block: Block): void {
    block.isWaiting = true;
    this.#waiting.push(block);
  }

  /** Removes a block that has left the index; frees its memory unless LMDB still reads it. */
  remove(block: Block): void {
    if (block.key !== null) this.#removals.push(block.key);
    if (!this.#inFlight.has(block)) this.#free(block);
  }

  /** Frees a sealed block without unwritten rows, as soon as the store has it. */
  release(block: Block): void {
    if (!this.#inFlight.has(block)) this.#free(block);
  }

  removeKey(key: Buffer): void {
    this.#removals.push(key);
  }

  /** Removes and returns the block that has waited longest; null if no sealed block waits. */
  takeOldest(): Block | null {
    const at = this.#waiting.findIndex((block) => block.isSealed && !block.isGone);
    if (at === -1) return null;
    const [block = null] = this.#waiting.splice(at, 1);
    return block;
  }

  /** Writes the waiting blocks. Resolves when they are committed or have failed; never rejects. */
  write(): Promise<void> {
    if (this.#writing !== null) return this.#writing;
    if (performance.now() < this.#retryAtMs || this.isIdle) return Promise.resolve();
    const lack = lackOfRoom(this.#table);
    if (lack !== null) {
      this.#failure = lack;
      return Promise.resolve();
    }
    const blocks = this.#waiting.filter((block) => !block.isGone);
    const removals = this.#removals;
    this.#waiting = [];
    this.#removals = [];
    if (blocks.length === 0 && removals.length === 0) return Promise.resolve();
    this.#writingSinceMs = performance.now();
    this.#writing = this.#run(blocks, removals).finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #run(blocks: readonly Block[], removals: Buffer[]): Promise<void> {
    this.#inFlight = new Set(blocks);
    const keys: Buffer[] = [];
    const commits = new Set<Promise<unknown>>();
    let thrown: string | null = null;
    try {
      for (const block of blocks) {
        block.isWaiting = false;
        const { key, value } = block.toStore();
        keys.push(key);
        // Writes the new version before removing the old one: after a crash in between, the longer one is kept.
        commits.add(this.#table.put(key, value));
        // The key is the same if only the rows' content has changed.
        if (block.key !== null && !block.key.equals(key)) commits.add(this.#table.remove(block.key));
      }
      for (const key of removals) commits.add(this.#table.remove(key));
    } catch (error) {
      thrown = messageOf(error);
    }
    // Handles every rejection immediately: an unhandled one would end the process.
    const reasons = await Promise.all([...commits].map((commit) => commit.then(() => null, reasonOf)));
    const failure = thrown ?? reasons.find((reason) => reason !== null) ?? null;
    this.#inFlight = new Set();
    this.#failure = failure;
    if (failure !== null) {
      this.#failed(blocks, removals);
      return;
    }
    this.#retryMs = RETRY_MS_MIN;
    for (const [i, block] of blocks.entries()) this.#committed(block, keys[i] ?? null);
  }

  #committed(block: Block, key: Buffer | null): void {
    block.key = key;
    if (block.isGone) this.remove(block);
    else if (block.isSealed && !block.isWaiting) this.#free(block);
  }

  #failed(blocks: readonly Block[], removals: Buffer[]): void {
    this.#retryAtMs = performance.now() + this.#retryMs;
    this.#retryMs = Math.min(RETRY_MS_MAX, 2 * this.#retryMs);
    const again = blocks.filter((block) => !block.isWaiting && !block.isGone);
    for (const block of again) block.isWaiting = true;
    for (const block of blocks) if (block.isGone) this.#free(block);
    this.#waiting = [...again, ...this.#waiting];
    this.#removals = [...removals, ...this.#removals];
  }

  #free(block: Block): void {
    if (block.buffer !== null) this.#buffers.release(block.buffer);
    block.buffer = null;
  }
}
