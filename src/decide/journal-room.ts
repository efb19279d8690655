import { closeSync, openSync, readdirSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { JOURNAL_DISK_FREE_BYTES_MIN, JOURNAL_FILE_BYTES, JOURNAL_SPARES } from '../kernel/limits.ts';

/** Written in one call by a thread of the libuv pool; the main thread only submits it. */
const SLICE = Buffer.alloc(262_144);
/** Choice: wait after the disk refused a write before the next attempt, ms; free space is read at most this often, too. */
const RETRY_MS = 1_000;
const SPARE_NAME = /^spare-(\d{10})\.log$/;

/**
 * Journal files that are preallocated with zeros. Their disk blocks are allocated, so writing into them takes no further disk space, and
 * the journal works when the disk is full. An expired file becomes a spare again instead of being removed, so at a steady rate the journal
 * never needs new space. While the disk has room, only `JOURNAL_SPARES` files are kept.
 * Copy-on-write or compressing file systems (btrfs, ZFS) may refuse the write anyway; the journal then reports itself as broken.
 */
export class JournalRoom {
  readonly #folder: string;
  readonly #nowMs: () => number;
  /** Zeroed files, in the order of their use. */
  readonly #ready: string[] = [];
  /** Files to be zeroed: spares of an earlier run, whose content is unknown, and expired journal files. */
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

  /** Number of files ready for use. */
  get ready(): number {
    return this.#ready.length;
  }

  /** Returns whether the disk refused the latest preallocation and spares are missing, so that the remaining ones must last. */
  get isShort(): boolean {
    return this.#retryAtMs !== Number.NEGATIVE_INFINITY && this.#ready.length < JOURNAL_SPARES;
  }

  /** Opens a preallocated file under this path; returns null if none is ready. Throws file system errors. */
  take(path: string): number | null {
    const name = this.#ready.shift();
    if (name === undefined) return null;
    const spare = join(this.#folder, name);
    let file: number;
    try {
      // Opens before renaming: if the process is out of file descriptors, the file stays a spare.
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

  /** Releases a file that is no longer needed. */
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
      // Someone else removed the file, or the folder is gone: nothing is left to keep.
      rmSync(path, { force: true });
    }
  }

  /** Call often: preallocates missing files, one at a time, and removes surplus ones. Never rejects. */
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
        // Frees the space of the partial spare: the journal cannot use it, but other writers may need it.
        await this.#remove(name);
        this.#retryAtMs = this.#nowMs() + RETRY_MS;
        return;
      }
    }
  }

  async #remove(name: string): Promise<void> {
    // A file that cannot be removed is zeroed and used after the next start.
    await rm(join(this.#folder, name), { force: true }).catch(() => {});
  }

  #count(): number {
    return this.#ready.length + this.#used.length;
  }

  #newName(): string {
    return `spare-${String(this.#nextNumber++).padStart(10, '0')}.log`;
  }

  /** Returns whether the disk has room, so that space freed now can be allocated again later. */
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
