import type { Database } from 'lmdb';
import { STORE_WRITE_MS_MAX } from '../../limits.ts';
import { lackOfRoom } from '../disk-room.ts';
import { messageOf, reasonOf } from '../durable.ts';
import type { Block } from './block.ts';
import type { Buffers } from './buffers.ts';

/** Choice: the first pause after a write that failed, and the longest; each is twice the one before. */
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 60_000;

/**
 * Writes blocks behind the back of the hot path. One write at a time is with LMDB, whose own thread copies and commits it; what
 * comes meanwhile waits here. Nothing waits for the disk: what is lost with the machine's power is the last second's.
 *
 * Direction of failure: open. A write that fails is tried again, though LMDB may refuse all writes after it until the process
 * ends; one that is stuck keeps its blocks, readable, until then.
 */
export class BlockWriter {
  readonly #table: Database<Buffer, Buffer>;
  readonly #buffers: Buffers;
  #waiting: Block[] = [];
  /** Keys of blocks that were removed. */
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

  /** Why nothing can be written; null while it can. */
  get broken(): string | null {
    if (this.#isStuck) return `a write has not been committed for over ${STORE_WRITE_MS_MAX} ms`;
    return this.#failure;
  }

  /** The write that is with LMDB will not come back; only a new process recovers. */
  get #isStuck(): boolean {
    return this.#writing !== null && performance.now() - this.#writingSinceMs > STORE_WRITE_MS_MAX;
  }

  get isIdle(): boolean {
    return this.#writing === null && this.#waiting.length === 0 && this.#removals.length === 0;
  }

  /** The block has rows that the store has not. */
  add(block: Block): void {
    block.isWaiting = true;
    this.#waiting.push(block);
  }

  /** The block was taken out of the index; its memory is free, unless LMDB still reads it. */
  remove(block: Block): void {
    if (block.key !== null) this.#removals.push(block.key);
    if (!this.#inFlight.has(block)) this.#free(block);
  }

  /** The block takes no more rows and has none that wait, so its memory is free once the store has it. */
  release(block: Block): void {
    if (!this.#inFlight.has(block)) this.#free(block);
  }

  removeKey(key: Buffer): void {
    this.#removals.push(key);
  }

  /** The block that has waited longest, which waits no more; null where none does that takes no more rows. */
  takeOldest(): Block | null {
    const at = this.#waiting.findIndex((block) => block.isSealed && !block.isGone);
    if (at === -1) return null;
    const [block = null] = this.#waiting.splice(at, 1);
    return block;
  }

  /** Hands over what waits. Resolves when it is committed or has failed; never rejects. */
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
        // First the new, then what it replaces: of a crash between them the longer one is kept.
        commits.add(this.#table.put(key, value));
        if (block.key !== null) commits.add(this.#table.remove(block.key));
      }
      for (const key of removals) commits.add(this.#table.remove(key));
    } catch (error) {
      thrown = messageOf(error);
    }
    // Each is heard at once: one that rejects unheard would end the process.
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
