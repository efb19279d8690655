import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import {
  DUE_BYTES_MAX,
  type DueEntryRead,
  dueIn,
  fileName,
  JOURNAL_HEAD_BYTES,
  MAGIC_DUE,
  MAGIC_IDS,
} from './journal-blocks.ts';

export interface DueReader {
  /**
   * Returns the next entries in the order of their sequences: at least `bytesMax` bytes when that much is left, so the result may exceed it
   * a little. Returns an empty list when everything written has been read. Throws file system errors.
   */
  next(bytesMax: number): readonly DueEntryRead[];
  close(): void;
}

/** Decides how long a journal file is kept. */
export interface FileState {
  readonly newestExpirySeconds: number;
  /** The newest sequence of its outbox entries; 0 if it has none. */
  readonly newestDue: number;
}

/** Reads the files in order. Keeps reading the open file as it grows. */
export class FileDueReader implements DueReader {
  readonly #folder: string;
  readonly #files: ReadonlyMap<number, FileState>;
  readonly #isOpen: (number: number) => boolean;
  readonly #after: number;
  readonly #head = Buffer.alloc(JOURNAL_HEAD_BYTES);
  /** Number of the file being read, or the lowest number to open next. */
  #number = 0;
  #descriptor: number | null = null;
  #at = 0;

  constructor(
    folder: string,
    files: ReadonlyMap<number, FileState>,
    isOpen: (number: number) => boolean,
    after: number,
  ) {
    this.#folder = folder;
    this.#files = files;
    this.#isOpen = isOpen;
    this.#after = after;
  }

  next(bytesMax: number): readonly DueEntryRead[] {
    const entries: DueEntryRead[] = [];
    let bytes = 0;
    while (bytes < bytesMax) {
      const payload = this.#nextPayload();
      if (payload === null) break;
      for (const entry of dueIn(payload)) {
        if (entry.sequence <= this.#after) continue;
        entries.push(entry);
        bytes += entry.bytes.length;
      }
    }
    return entries;
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }

  #nextPayload(): Buffer | null {
    while (this.#descriptor !== null || this.#openNext()) {
      const payload = this.#readOn();
      if (payload !== null) return payload;
      if (this.#isOpen(this.#number)) return null;
      this.close();
      this.#number++;
    }
    return null;
  }

  #openNext(): boolean {
    const numbers = [...this.#files].filter(
      ([number, { newestDue }]) => number >= this.#number && newestDue > this.#after,
    );
    if (numbers.length === 0) return false;
    this.#number = Math.min(...numbers.map(([number]) => number));
    this.#descriptor = openSync(join(this.#folder, fileName(this.#number)), 'r');
    this.#at = 0;
    return true;
  }

  /** Returns the next block of outbox entries in the file; null at the end of the file and at a truncated or corrupt block. */
  #readOn(): Buffer | null {
    while (this.#read(this.#head, this.#at)) {
      const magic = this.#head.readUInt32LE(0);
      const size = this.#head.readUInt32LE(4);
      if ((magic !== MAGIC_DUE && magic !== MAGIC_IDS) || size > DUE_BYTES_MAX) return null;
      const payload = Buffer.allocUnsafeSlow(size);
      const from = this.#at + JOURNAL_HEAD_BYTES;
      if (!this.#read(payload, from) || crc32(payload) !== this.#head.readUInt32LE(8)) return null;
      this.#at = from + size;
      if (magic === MAGIC_DUE) return payload;
    }
    return null;
  }

  /** Fills the buffer from this position; returns false if the file is too short. */
  #read(into: Buffer, at: number): boolean {
    return this.#descriptor !== null && readSync(this.#descriptor, into, 0, into.length, at) === into.length;
  }
}
