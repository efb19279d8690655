import { mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { VELOCITY_KEEP_SECONDS } from '../kernel/velocity-limits.ts';
import { GROUP_WORDS, HEAD_GROUPS, HEAD_WORDS, LINE_WORDS, OWNERS, RECORD_WORDS, SEEN_MIN, WAYS } from './layout.ts';
import type { VelocityMemory } from './memory.ts';
import { Shares } from './shares.ts';
import { SNAPSHOT_NAME } from './snapshot.ts';
import {
  BLOCK_BYTES_MAX,
  BLOCK_ENTRIES_MAX,
  BLOCK_HEAD_BYTES,
  ENTRY_WORDS,
  endOf,
  headOf,
  marksPart,
  sealBlock,
} from './snapshot-format.ts';
import { StreamMarks } from './stream-marks.ts';

export type SnapshotSaved =
  | { readonly kind: 'saved'; readonly records: number; readonly bytes: number }
  /** The previous snapshot is unchanged. */
  | { readonly kind: 'failed'; readonly detail: string };

/** Choice: groups read in one turn of the event loop if few records are in use; under 1 ms. */
const GROUPS_PER_TURN = 4_096;
const COPIES_MAX = 3;

/**
 * Saves the table while it is in use: block by block, yielding to the event loop in between. Workers continue to write, so a record that
 * changed while it was copied is copied again, up to three times. After that it may hold one event more in one counter than in another. If
 * a location was written during all three copies, it may hold the coordinates of one location with the time of another. Every word is
 * complete and meaningful by itself.
 *
 * The marks of other nodes' events are copied last, so a restart applies no event a second time. What came while the table was copied may
 * be missing in records that were copied before; when workers have stopped before, nothing is.
 *
 * The file is renamed to its final name only when it is complete. Measured: 1,000,000 records (140 MB) in 1.0 s.
 */
export class SnapshotWriter {
  readonly #folder: string;
  readonly #unfinished: string;
  readonly #memory: VelocityMemory;
  readonly #words: Uint32Array;
  readonly #shares: Shares;
  readonly #block = Buffer.from(new ArrayBuffer(BLOCK_HEAD_BYTES + BLOCK_BYTES_MAX));
  readonly #entries: Uint32Array;
  #last: Promise<unknown> = Promise.resolve();
  #waiting: Promise<SnapshotSaved> | null = null;

  /** Two writers of one folder must have different `suffix`es: the ends of the names of their unfinished files. */
  constructor(folder: string, memory: VelocityMemory, suffix = 'part') {
    this.#folder = folder;
    this.#unfinished = join(folder, `${SNAPSHOT_NAME}.${suffix}`);
    this.#memory = memory;
    this.#words = new Uint32Array(memory.words);
    this.#shares = new Shares(this.#words, (this.#words[HEAD_GROUPS] ?? 0) * WAYS);
    this.#entries = new Uint32Array(this.#block.buffer, BLOCK_HEAD_BYTES);
  }

  /** Never rejects. Calls during a running save share one further save after it. */
  save(nowMs: number): Promise<SnapshotSaved> {
    if (this.#waiting !== null) return this.#waiting;
    const saved = this.#last.then(() => {
      this.#waiting = null;
      return this.#run(nowMs);
    });
    this.#waiting = saved;
    this.#last = saved;
    return saved;
  }

  async #run(nowMs: number): Promise<SnapshotSaved> {
    const part = this.#unfinished;
    try {
      await mkdir(this.#folder, { recursive: true });
      const file = await open(part, 'w', 0o600);
      let saved: SnapshotSaved;
      try {
        saved = await this.#write(file, Math.floor(nowMs / 1_000));
      } finally {
        await file.close();
      }
      await rename(part, join(this.#folder, SNAPSHOT_NAME));
      return saved;
    } catch (error) {
      await rm(part, { force: true }).catch(() => {});
      return { kind: 'failed', detail: error instanceof Error ? error.message : String(error) };
    }
  }

  async #write(file: FileHandle, nowSeconds: number): Promise<SnapshotSaved> {
    await file.write(headOf(this.#memory.hashKey, nowSeconds));
    const words = this.#words;
    let records = 0;
    let count = 0;
    let groups = 0;
    for (let line = HEAD_WORDS; line < words.length; line += GROUP_WORDS) {
      for (let way = 0; way < WAYS; way++) {
        if (this.#copy(line, way, count * ENTRY_WORDS, nowSeconds)) count++;
      }
      const isFull = count > BLOCK_ENTRIES_MAX - WAYS;
      if (isFull) {
        await this.#flush(file, count);
        records += count;
        count = 0;
      } else if (++groups % GROUPS_PER_TURN === 0) await setImmediate();
    }
    if (count > 0) await this.#flush(file, count);
    records += count;
    await file.write(marksPart(new StreamMarks(this.#memory.marks).save()));
    await file.write(endOf(records));
    await file.datasync();
    const { size } = await file.stat();
    return { kind: 'saved', records, bytes: size };
  }

  /** Copies a record into the block; returns false if there is none to keep. */
  #copy(line: number, way: number, to: number, nowSeconds: number): boolean {
    const words = this.#words;
    const entries = this.#entries;
    const at = line + 2 * way;
    const record = line + LINE_WORDS + way * RECORD_WORDS;
    const tag = Atomics.load(words, at);
    const seen = Atomics.load(words, at + 1);
    if (tag === 0 || seen < SEEN_MIN || nowSeconds - seen > VELOCITY_KEEP_SECONDS) return false;
    entries[to] = tag;
    entries[to + 1] = seen;
    for (let n = 0; n < COPIES_MAX; n++) {
      let changed = 0;
      for (let i = 0; i < RECORD_WORDS; i++) {
        const word = words[record + i] ?? 0;
        if (n === 0 || entries[to + 2 + i] !== word) changed++;
        entries[to + 2 + i] = word;
      }
      if (changed === 0) break;
    }
    entries[to + 2 + RECORD_WORDS] =
      this.#shares.ownerAt(line, 2 * way) | (this.#shares.isKept(line, 2 * way) ? OWNERS : 0);
    return Atomics.load(words, at) === tag && Atomics.load(words, at + 1) >= SEEN_MIN;
  }

  async #flush(file: FileHandle, count: number): Promise<void> {
    const block = this.#block.subarray(0, BLOCK_HEAD_BYTES + count * ENTRY_WORDS * 4);
    sealBlock(block);
    await file.write(block);
  }
}
