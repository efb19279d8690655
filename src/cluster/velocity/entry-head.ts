import { randomBytes } from 'node:crypto';

/**
 * Stands before the items of an entry, encrypted with them: who wrote it, and when. A version byte, the life of the sender's node (8
 * bytes), its thread (4), the number of the entry among those of the thread for this stream (4), and the time of writing, Unix ms (6).
 */
const VERSION = 1;
const AT_LIFE = 1;
const AT_SENDER = 9;
const AT_SERIAL = 13;
const AT_WRITTEN = 17;
export const ENTRY_HEAD_BYTES = 23;

export interface EntryHead {
  readonly life: bigint;
  readonly sender: number;
  /** From 1 on. */
  readonly serial: number;
  readonly writtenMs: number;
}

const SERIAL_MAX = 2 ** 32 - 1;

/** Numbers the entries of a thread by stream. When a stream has used them all, the thread continues as a new sender. */
export class EntryNumbers {
  readonly #max: number;
  readonly #last = new Map<number, number>();
  #sender = randomBytes(4).readUInt32BE();

  constructor(max = SERIAL_MAX) {
    this.#max = max;
  }

  next(stream: number): Pick<EntryHead, 'sender' | 'serial'> {
    const last = this.#last.get(stream) ?? 0;
    if (last >= this.#max) {
      this.#sender = (this.#sender + 1) % (SERIAL_MAX + 1);
      this.#last.clear();
    }
    const serial = (this.#last.get(stream) ?? 0) + 1;
    this.#last.set(stream, serial);
    return { sender: this.#sender, serial };
  }
}

export function withHead({ life, sender, serial, writtenMs }: EntryHead, items: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(ENTRY_HEAD_BYTES + items.length);
  bytes[0] = VERSION;
  bytes.writeBigUInt64BE(life, AT_LIFE);
  bytes.writeUInt32BE(sender, AT_SENDER);
  bytes.writeUInt32BE(serial, AT_SERIAL);
  bytes.writeUIntBE(Math.floor(writtenMs), AT_WRITTEN, 6);
  items.copy(bytes, ENTRY_HEAD_BYTES);
  return bytes;
}

/** Returns null for an entry of another version. */
export function readEntryHead(bytes: Buffer): EntryHead | null {
  if (bytes.length < ENTRY_HEAD_BYTES || bytes[0] !== VERSION) return null;
  return {
    life: bytes.readBigUInt64BE(AT_LIFE),
    sender: bytes.readUInt32BE(AT_SENDER),
    serial: bytes.readUInt32BE(AT_SERIAL),
    writtenMs: bytes.readUIntBE(AT_WRITTEN, 6),
  };
}
