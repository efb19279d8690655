import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { WorkConsumer } from '../ports/work-queue-port.ts';
import {
  DUE_BYTES_MAX,
  type DueEntryRead,
  dueIn,
  fileName,
  HEAD_BYTES,
  MAGIC_DUE,
  MAGIC_IDS,
} from './journal-blocks.ts';

/** How far the journal is written. Its writer announces it after the write. */
export interface JournalEnd {
  /** The newest written sequence. */
  readonly upToSequence: number;
  /** Number of the file that holds it. */
  readonly file: number;
}

/** Choice: bytes per read; usually several blocks. */
const READ_BYTES = 65_536;

export interface TailParts {
  readonly folder: string;
  /** The first file that may hold entries after `acknowledged`. */
  readonly firstFile: number;
  readonly acknowledged: number;
  /** Passes an acknowledgement on to the journal, which then releases files. */
  onAcknowledged(upToSequence: number): void;
}

/**
 * Reads the outbox entries of a journal that another thread writes: the consumer's side of the work queue on a single machine. Entries
 * beyond the announced end are left for later, even if they can be read already: messages sent before their announcement come first.
 *
 * No file stays open between two calls. The journal reuses the files that it has released; a file that was replaced while it was read is
 * detected by its inode, and what was read of it is discarded.
 */
export class JournalTail implements WorkConsumer {
  readonly #parts: TailParts;
  #end: JournalEnd;
  #file: number;
  #at = 0;
  #received: number;
  #acknowledged: number;
  /** The file and position behind the last acknowledged entry, where `claim` returns to. */
  #claimFile: number;

  constructor(parts: TailParts) {
    this.#parts = parts;
    this.#file = parts.firstFile;
    this.#claimFile = parts.firstFile;
    this.#received = parts.acknowledged;
    this.#acknowledged = parts.acknowledged;
    this.#end = { upToSequence: parts.acknowledged, file: parts.firstFile };
  }

  announce(end: JournalEnd): void {
    this.#end = end;
  }

  receive(bytesMax: number): readonly DueEntryRead[] {
    const entries: DueEntryRead[] = [];
    let bytes = 0;
    while (bytes < bytesMax && this.#received < this.#end.upToSequence) {
      const read = this.#readOn();
      if (read === 'nothing') {
        if (this.#file >= this.#end.file) break;
        this.#file++;
        this.#at = 0;
        continue;
      }
      for (const entry of read) {
        this.#received = Math.max(this.#received, entry.sequence);
        entries.push(entry);
        bytes += entry.bytes.length;
      }
    }
    return entries;
  }

  ack(upToSequence: number): void {
    if (upToSequence <= this.#acknowledged) return;
    this.#acknowledged = upToSequence;
    if (upToSequence >= this.#received) this.#claimFile = this.#file;
    this.#parts.onAcknowledged(upToSequence);
  }

  claim(): void {
    this.#file = this.#claimFile;
    this.#at = 0;
    this.#received = this.#acknowledged;
  }

  /** Returns the new entries of the next complete blocks of the file; `nothing` if there is no such block, or no such file. */
  #readOn(): readonly DueEntryRead[] | 'nothing' {
    const path = join(this.#parts.folder, fileName(this.#file));
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return 'nothing';
    const descriptor = openSync(path, 'r');
    try {
      const bytes = this.#bytesAt(descriptor);
      const { entries, end } = this.#parse(bytes);
      if (end === 0) return 'nothing';
      if (statSync(path, { throwIfNoEntry: false })?.ino !== fstatSync(descriptor).ino) return 'nothing';
      this.#at += end;
      return entries;
    } finally {
      closeSync(descriptor);
    }
  }

  /** Returns the bytes at the position: a piece of usual size, or one whole block if that is larger. */
  #bytesAt(descriptor: number): Buffer {
    const piece = readUpTo(descriptor, READ_BYTES, this.#at);
    const blockBytes = piece.length < HEAD_BYTES ? 0 : HEAD_BYTES + piece.readUInt32LE(4);
    return blockBytes <= piece.length || blockBytes > DUE_BYTES_MAX
      ? piece
      : readUpTo(descriptor, blockBytes, this.#at);
  }

  #parse(bytes: Buffer): { readonly entries: readonly DueEntryRead[]; readonly end: number } {
    const entries: DueEntryRead[] = [];
    let at = 0;
    for (;;) {
      const payload = payloadAt(bytes, at);
      if (payload === null) return { entries, end: at };
      if (bytes.readUInt32LE(at) === MAGIC_DUE) {
        const found = [...dueIn(payload)].filter(({ sequence }) => sequence > this.#received);
        if (found.some(({ sequence }) => sequence > this.#end.upToSequence)) return { entries, end: at };
        entries.push(...found);
      }
      at += HEAD_BYTES + payload.length;
    }
  }
}

/** Returns the payload of the block at this offset; null if there is no complete and valid one. */
function payloadAt(bytes: Buffer, at: number): Buffer | null {
  if (at + HEAD_BYTES > bytes.length) return null;
  const magic = bytes.readUInt32LE(at);
  const size = bytes.readUInt32LE(at + 4);
  const from = at + HEAD_BYTES;
  if ((magic !== MAGIC_DUE && magic !== MAGIC_IDS) || size === 0 || from + size > bytes.length) return null;
  const payload = bytes.subarray(from, from + size);
  return crc32(payload) === bytes.readUInt32LE(at + 8) ? payload : null;
}

function readUpTo(descriptor: number, length: number, at: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(length);
  return bytes.subarray(0, readSync(descriptor, bytes, 0, length, at));
}
