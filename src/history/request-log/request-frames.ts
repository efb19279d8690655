import * as zlib from 'node:zlib';
import { decrypt, encrypt } from '../../kernel/encryption.ts';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { DECISIONS, type Decision } from '../../risk/decision.ts';
import { type Outcome, OUTCOMES } from '../../risk/event-outcome.ts';

/**
 * The bytes of the request log. A file has segments, each of a few seconds:
 *
 *   0-7 magic   8-11 length of the rest (big-endian)   the rest: one byte of codec and the entries, compressed, then encrypted
 *
 * An entry, integers and numbers big-endian:
 *
 *   0 kind   1 flags, or the position of the outcome   2-9 time, Unix ms (float64)   10-39 request id
 *   request only: 40-47 hash of the origin (float64)   48-51 length of the body   the body
 */

export type LoggedRequest =
  | {
      readonly kind: 'request';
      readonly atMs: number;
      readonly requestId: string;
      readonly publicKey: boolean;
      /** The decision; in observe mode the one that would have been made. */
      readonly decision: Decision;
      readonly originHash: number;
      readonly body: Buffer;
    }
  | { readonly kind: 'outcome'; readonly atMs: number; readonly requestId: string; readonly outcome: Outcome };

const MAGIC = Buffer.from('GHREQLG1');
const HEAD_BYTES = MAGIC.length + 4;
const KIND_REQUEST = 1;
const KIND_OUTCOME = 2;
const ID_CHARACTERS = 30;
const OUTCOME_BYTES = 10 + ID_CHARACTERS;
const REQUEST_BYTES = OUTCOME_BYTES + 12;
const PUBLIC_KEY = 1;
const DECISION_SHIFT = 1;
/** Choice: far more than a second of the largest bodies. A damaged length must not fill the memory. */
const SEGMENT_BYTES_MAX = 2 ** 30;

export function entryBytes(bodyBytes: number | null): number {
  return bodyBytes === null ? OUTCOME_BYTES : REQUEST_BYTES + bodyBytes;
}

/** Writes an entry of `entryBytes` at `at`. */
export function writeLoggedEntry(into: Buffer, at: number, entry: LoggedRequest | RequestEntry): void {
  const isRequest = entry.kind === 'request';
  into[at] = isRequest ? KIND_REQUEST : KIND_OUTCOME;
  into[at + 1] = isRequest
    ? (entry.publicKey ? PUBLIC_KEY : 0) | (DECISIONS.indexOf(entry.decision) << DECISION_SHIFT)
    : OUTCOMES.indexOf(entry.outcome);
  into.writeDoubleBE(entry.atMs, at + 2);
  into.latin1Write(entry.requestId, at + 10, ID_CHARACTERS);
  if (!isRequest) return;
  into.writeDoubleBE(entry.originHash, at + OUTCOME_BYTES);
  into.writeUInt32BE(entry.body.length, at + OUTCOME_BYTES + 8);
  into.set(entry.body, at + REQUEST_BYTES);
}

/** A request whose body is borrowed. */
export type RequestEntry = Omit<LoggedRequest & { readonly kind: 'request' }, 'body'> & { readonly body: Uint8Array };

export function* readLoggedEntries(bytes: Buffer): Generator<LoggedRequest> {
  let at = 0;
  while (at + OUTCOME_BYTES <= bytes.length) {
    const flags = bytes[at + 1] ?? 0;
    const head = { atMs: bytes.readDoubleBE(at + 2), requestId: bytes.latin1Slice(at + 10, at + OUTCOME_BYTES) };
    if (bytes[at] === KIND_OUTCOME) {
      yield { kind: 'outcome', ...head, outcome: OUTCOMES[flags] ?? 'failed' };
      at += OUTCOME_BYTES;
      continue;
    }
    const length = bytes.readUInt32BE(at + OUTCOME_BYTES + 8);
    yield {
      kind: 'request',
      ...head,
      publicKey: (flags & PUBLIC_KEY) !== 0,
      decision: DECISIONS[flags >> DECISION_SHIFT] ?? 'ALLOW',
      originHash: bytes.readDoubleBE(at + OUTCOME_BYTES),
      body: bytes.subarray(at + REQUEST_BYTES, at + REQUEST_BYTES + length),
    };
    at += REQUEST_BYTES + length;
  }
}

type Compress = (bytes: Buffer, then: (error: Error | null, packed: Buffer) => void) => void;
/** Zstandard, which Node.js has from 22.15 on; 2 to 3 times as fast as Brotli at the same size. */
const ZSTD = zlib as unknown as {
  readonly zstdCompress?: Compress;
  readonly zstdDecompressSync?: (bytes: Buffer) => Buffer;
};
const CODEC_BROTLI = 0;
const CODEC_ZSTD = 1;
const brotli: Compress = (bytes, then) =>
  zlib.brotliCompress(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }, then);

/** Compresses and encrypts entries, off this thread, into a segment of a file. */
export async function packSegment(entries: Buffer, key: Uint8Array, context: string): Promise<Buffer> {
  const { zstdCompress } = ZSTD;
  const packed = await new Promise<Buffer>((resolve, reject) => {
    (zstdCompress ?? brotli)(entries, (error, result) => (error === null ? resolve(result) : reject(error)));
  });
  const codec = Buffer.from([zstdCompress === undefined ? CODEC_BROTLI : CODEC_ZSTD]);
  const sealed = encrypt(key, Buffer.concat([codec, packed]), context);
  const head = Buffer.alloc(HEAD_BYTES);
  MAGIC.copy(head);
  head.writeUInt32BE(sealed.length, MAGIC.length);
  return Buffer.concat([head, sealed]);
}

/** Part of a file. */
export type ReadSegment =
  | { readonly kind: 'segment'; readonly entries: Buffer; readonly to: number }
  /** These bytes of the file are no segment, or one of another key. */
  | { readonly kind: 'damaged'; readonly from: number; readonly to: number };

/** Reads the segments of a file; after damage it continues at the next one. */
export function* readSegments(file: Buffer, key: Uint8Array, context: string): Generator<ReadSegment> {
  let at = 0;
  while (at < file.length) {
    const isHead = file.subarray(at, at + MAGIC.length).equals(MAGIC) && at + HEAD_BYTES <= file.length;
    const end = isHead ? at + HEAD_BYTES + file.readUInt32BE(at + MAGIC.length) : at;
    const entries =
      isHead && end <= file.length ? unpackSegment(file.subarray(at + HEAD_BYTES, end), key, context) : null;
    if (entries !== null) {
      yield { kind: 'segment', entries, to: end };
      at = end;
      continue;
    }
    const next = file.indexOf(MAGIC, at + 1);
    const to = next === -1 ? file.length : next;
    yield { kind: 'damaged', from: at, to };
    at = to;
  }
}

function unpackSegment(sealed: Buffer, key: Uint8Array, context: string): Buffer | null {
  const plain = decrypt(key, sealed, context);
  if (plain === null) return null;
  try {
    const packed = plain.subarray(1);
    if (plain[0] === CODEC_BROTLI) return zlib.brotliDecompressSync(packed, { maxOutputLength: SEGMENT_BYTES_MAX });
    return ZSTD.zstdDecompressSync?.(packed) ?? null;
  } catch {
    return null;
  }
}

/** Purpose of the key of a customer's day, for `keyFor`; also the context of its segments. */
export function requestLogPurpose(customer: CustomerNumber, day: string): string {
  return `request-log/${customer}/${day}`;
}
