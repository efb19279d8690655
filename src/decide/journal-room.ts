import { closeSync, openSync, readdirSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { JOURNAL_DISK_FREE_BYTES_MIN, JOURNAL_FILE_BYTES, JOURNAL_SPARES } from '../limits.ts';

/** Written at once by a thread of the system's pool; the main thread only hands it over. */
const SLICE = Buffer.alloc(262_144);
/** Choice: a disk that refused is asked again after this long, ms; so often free space is read, too. */
const RETRY_MS = 1_000;
const SPARE_NAME = /^spare-(\d{10})\.log$/;

/**
 * Files of zeros laid out ahead for the journal. Their blocks are allocated, so writing into them takes no room on the disk: the
 * journal goes on when the disk is full. A file that has run out becomes a spare again instead of being removed, so at a steady rate
 * a full disk is never noticed; where the disk has room, only `JOURNAL_SPARES` are kept.
 * File systems that copy on write or compress (btrfs, ZFS) may refuse all the same; then the journal is broken, and says so.
 */
export class JournalRoom {
  readonly #folder: string;
  readonly #nowMs: () => number;
  /** Zeroed, in the order of their use. */
  readonly #ready: string[] = [];
  /** To be zeroed: spares of a former run, whose content is unknown, and files that have run out. */
  readonly #used: string[] = [];
  #nextNumber = 1;
  #laying: Promise<void> | null = null;
  #retryAtMs = Number.NEGATIVE_INFINITY;
  #freeBytes = Number.POSITIVE_INFINITY;
  #freeReadAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  /** `nowMs` is a monotonic clock, ms. */
  constructor(folder: string, nowMs: () => number = () => performance.now()) {
    this.#folder = folder;
    this.#nowMs = nowMs;
    for (const name of readdirSync(folder).sort()) {
      const match = SPARE_NAME.exec(name);
      if (match === null) continue;
      this.#used.push(name);
      this.#nextNumber = Number(match[1]) + 1;
    }
  }

  /** Files that can be taken. */
  get ready(): number {
    return this.#ready.length;
  }

  /** The disk refused the last spare, so those that are left have to last. */
  get isShort(): boolean {
    return this.#retryAtMs !== Number.NEGATIVE_INFINITY && this.#ready.length < JOURNAL_SPARES;
  }

  /** Opens a laid-out file under the path; null where none is ready. Throws what the file system throws. */
  take(path: string): number | null {
    const name = this.#ready.shift();
    if (name === undefined) return null;
    const spare = join(this.#folder, name);
    let file: number;
    try {
      // Before it is renamed: where there is no free descriptor it stays a spare.
      file = openSync(spare, 'r+');
    } catch (error) {
      if (isOutOfDescriptors(error)) this.#ready.unshift(name);
      throw error;
    }
    try {
      renameSync(spare, path);
      return file;
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  /** Gives up a file that nothing needs any more. */
  recycle(path: string): void {
    if (this.#count() >= JOURNAL_SPARES && this.#hasRoom()) {
      rmSync(path, { force: true });
      return;
    }
    const name = this.#newName();
    try {
      renameSync(path, join(this.#folder, name));
      this.#used.push(name);
    } catch {
      // It was removed by somebody else, or the folder is gone: there is nothing to keep.
      rmSync(path, { force: true });
    }
  }

  /** Call often: lays out what is missing, one file at a time, and removes what is too much. Never rejects. */
  tend(): Promise<void> {
    this.#laying ??= this.#lay().finally(() => {
      this.#laying = null;
    });
    return this.#laying;
  }

  close(): void {
    this.#isClosed = true;
  }

  async #lay(): Promise<void> {
    if (this.#nowMs() < this.#retryAtMs) return;
    while (!this.#isClosed) {
      const surplus = this.#count() > JOURNAL_SPARES && this.#hasRoom() ? this.#used.pop() : undefined;
      if (surplus !== undefined) {
        await this.#remove(surplus);
        continue;
      }
      const used = this.#used.shift();
      if (used === undefined && this.#ready.length >= JOURNAL_SPARES) return;
      const name = used ?? this.#newName();
      try {
        await layOut(join(this.#folder, name), used === undefined ? 'wx' : 'r+');
        this.#ready.push(name);
        this.#retryAtMs = Number.NEGATIVE_INFINITY;
      } catch {
        // What could be written of it is given back: in part it is of no use to the journal, but it may be to others.
        await this.#remove(name);
        this.#retryAtMs = this.#nowMs() + RETRY_MS;
        return;
      }
    }
  }

  async #remove(name: string): Promise<void> {
    // One that cannot be removed is zeroed and used after the next start.
    await rm(join(this.#folder, name), { force: true }).catch(() => {});
  }

  #count(): number {
    return this.#ready.length + this.#used.length;
  }

  #newName(): string {
    return `spare-${String(this.#nextNumber++).padStart(10, '0')}.log`;
  }

  /** Whether the disk can give back later what is removed now. */
  #hasRoom(): boolean {
    const nowMs = this.#nowMs();
    if (nowMs - this.#freeReadAtMs >= RETRY_MS) {
      this.#freeReadAtMs = nowMs;
      try {
        const { bavail, bsize } = statfsSync(this.#folder);
        this.#freeBytes = bavail * bsize;
      } catch {
        this.#freeBytes = 0;
      }
    }
    return this.#freeBytes >= JOURNAL_DISK_FREE_BYTES_MIN;
  }
}

function isOutOfDescriptors(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EMFILE' || error.code === 'ENFILE');
}

async function layOut(path: string, flags: 'wx' | 'r+'): Promise<void> {
  const file = await open(path, flags, 0o600);
  try {
    for (let at = 0; at < JOURNAL_FILE_BYTES; at += SLICE.length) {
      const { bytesWritten } = await file.write(SLICE, 0, SLICE.length, at);
      if (bytesWritten !== SLICE.length) throw new Error('a spare was written in part');
    }
    // A recycled file of another version may be longer.
    await file.truncate(JOURNAL_FILE_BYTES);
  } finally {
    await file.close();
  }
}
