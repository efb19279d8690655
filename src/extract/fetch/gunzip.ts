import { crc32, createInflateRaw } from 'node:zlib';
import type { Pieces } from './pieces.ts';

/** Choice: a slice decompresses to at most 8 MiB. */
const SLICE_BYTES = 8_192;
/** Checksum and length. */
const TRAILER_BYTES = 8;
/** Choice: an extra field may have 64 KiB; names and comments are short. */
const HEADER_BYTES_MAX = 2 * 65_536;

const MAGIC = Buffer.from([0x1f, 0x8b, 8]);

export function isGzip(bytes: Buffer): boolean {
  return bytes.length >= MAGIC.length && mayBeGzip(bytes);
}

function mayBeGzip(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, MAGIC.length);
  return bytes.subarray(0, length).equals(MAGIC.subarray(0, length));
}

/**
 * Decompresses gzip files, one after the other, chunk by chunk. Unlike the library, it accepts what browsers accept: a last file without
 * its trailer or a part of it, and anything after a file that is not another one. Data that end too early are an error with the library's
 * code. Source: RFC 1952, 2.3.
 */
export async function* gunzipped(pieces: Pieces): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  let member: Member | null = null;
  try {
    for await (const slice of slicesOf(pieces)) {
      held = held.length === 0 ? slice : Buffer.concat([held, slice]);
      while (held.length > 0) {
        if (member?.isChecked === true && !mayBeGzip(held)) return;
        if (member === null || member.isChecked) {
          const bytes = headerBytes(held);
          if (bytes === null) break;
          held = held.subarray(bytes);
          member?.close();
          member = new Member();
        } else if (!member.hasEnded) {
          yield* member.inflate(held);
          held = member.rest;
        } else if (held.length < TRAILER_BYTES) break;
        else {
          member.check(held);
          held = held.subarray(TRAILER_BYTES);
        }
      }
    }
    if (member === null || (member.isChecked && isGzip(held))) throw broken('Z_BUF_ERROR');
    yield* member.end();
  } finally {
    member?.close();
  }
}

async function* slicesOf(pieces: Pieces): AsyncGenerator<Buffer> {
  for await (const piece of pieces)
    for (let from = 0; from < piece.length; from += SLICE_BYTES) yield piece.subarray(from, from + SLICE_BYTES);
}

const FLAGS = { crc: 2, extra: 4, name: 8, comment: 16 } as const;

/** Returns null if more bytes are needed. */
function headerBytes(bytes: Buffer): number | null {
  if (!mayBeGzip(bytes) || bytes.length > HEADER_BYTES_MAX) throw broken('Z_DATA_ERROR');
  if (bytes.length < 12) return null;
  const flags = bytes[3] ?? 0;
  let end = 10;
  if ((flags & FLAGS.extra) !== 0) end += 2 + bytes.readUInt16LE(end);
  for (const flag of [FLAGS.name, FLAGS.comment]) {
    if ((flags & flag) === 0) continue;
    const zero = bytes.indexOf(0, end);
    if (zero < 0) return null;
    end = zero + 1;
  }
  if ((flags & FLAGS.crc) !== 0) end += 2;
  return end <= bytes.length ? end : null;
}

/** One gzip file, without its header. */
class Member {
  /** Its data are complete. */
  hasEnded = false;
  isChecked = false;
  /** Bytes given to `inflate` that came after the data. */
  rest: Buffer = Buffer.alloc(0);
  readonly #engine = createInflateRaw();
  #out: Buffer[] = [];
  #crc = 0;
  #bytes = 0;
  #given = 0;

  constructor() {
    this.#engine
      .on('error', () => {})
      .on('data', (chunk: Buffer) => {
        this.#crc = crc32(chunk, this.#crc);
        this.#bytes += chunk.length;
        this.#out.push(chunk);
      });
  }

  async *inflate(bytes: Buffer): AsyncGenerator<Buffer> {
    this.#given += bytes.length;
    await this.#done((then) => this.#engine.write(bytes, then));
    this.rest = bytes.subarray(bytes.length - (this.#given - this.#engine.bytesWritten));
    yield* this.#taken();
  }

  /** Throws if the trailer belongs to other data. */
  check(trailer: Buffer): void {
    this.isChecked = true;
    if (trailer.readUInt32LE(0) !== this.#crc || trailer.readUInt32LE(4) !== this.#bytes % 2 ** 32)
      throw broken('Z_DATA_ERROR');
  }

  /** There are no more bytes. Throws if the data are not complete. */
  async *end(): AsyncGenerator<Buffer> {
    if (!this.hasEnded) await this.#done(() => this.#engine.end());
    yield* this.#taken();
  }

  close(): void {
    this.#engine.destroy();
  }

  /** Resolves when the library has taken the bytes, or when the data have ended: it then calls nothing back. */
  #done(start: (then: () => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const onEnd = (): void => {
        this.hasEnded = true;
        resolve();
      };
      this.#engine.once('error', reject).once('end', onEnd);
      start(() => {
        // Output that was made by then is still to be emitted.
        setImmediate(() => {
          this.#engine.off('error', reject).off('end', onEnd);
          resolve();
        });
      });
    });
  }

  #taken(): readonly Buffer[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }
}

function broken(code: string): Error {
  return Object.assign(new Error('not a complete gzip file'), { code });
}
