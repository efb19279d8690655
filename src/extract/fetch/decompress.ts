import { pipeline, type Transform } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  brotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  gunzip,
  inflate,
  inflateRaw,
  type InputType,
  type ZlibOptions,
} from 'node:zlib';
import { withHead, type Pieces } from './pieces.ts';

export type Decompressed =
  | { readonly kind: 'ok'; readonly body: Buffer }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'broken'; readonly detail: string };

/** How to decode one content coding: at once, and chunk by chunk. */
interface Undo {
  readonly whole: (bytes: InputType, options: ZlibOptions) => Promise<Buffer>;
  readonly open: () => Transform;
}

const GZIP: Undo = { whole: promisify(gunzip), open: () => createGunzip() };
const ZLIB: Undo = { whole: promisify(inflate), open: () => createInflate() };
const BARE_DEFLATE: Undo = { whole: promisify(inflateRaw), open: () => createInflateRaw() };
const BROTLI: Undo = { whole: promisify(brotliDecompress) as Undo['whole'], open: () => createBrotliDecompress() };

/** Selects the decoder by the coding's name and the first bytes; null if it is unknown. */
function undoOf(coding: string, head: Buffer): Undo | null {
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return GZIP;
    case 'deflate':
      return isZlib(head) ? ZLIB : BARE_DEFLATE;
    case 'br':
      return BROTLI;
    default:
      return null;
  }
}

function unknown(coding: string): Undone {
  return { kind: 'broken', detail: `the content coding ${coding.slice(0, 32)}` };
}

/** Sent as `Accept-Encoding`. */
export const ACCEPTED_ENCODINGS = 'gzip, deflate, br';

/** Choice: one by the server itself and one by a proxy in front of it. */
const CODINGS_MAX = 2;
/** Choice: real pages compress up to some 30 times, and long repetitive tables up to 100. A decompression bomb starts at 1,000. */
const RATIO_MAX = 250;
/** Choice: below this size a high ratio means nothing and does no harm. */
const RATIO_FREE_BYTES = 1_048_576;

/**
 * Decodes the codings of `Content-Encoding`, the last one first. Output beyond `bytesMax`, or beyond what the input can plausibly contain,
 * is never produced: decoding stops there.
 */
export async function decompress(body: Buffer, contentEncoding: string, bytesMax: number): Promise<Decompressed> {
  const codings = codingsOf(contentEncoding);
  if (codings.length > CODINGS_MAX) return tooMany(codings);
  let unpacked = body;
  for (const coding of codings) {
    const step = await unpack(unpacked, coding, bytesMax);
    if (step.kind !== 'ok') return step;
    unpacked = step.body;
  }
  return unpacked.length > bytesMax ? { kind: 'too_large' } : { kind: 'ok', body: unpacked };
}

/** Decompresses a body that is itself a gzip file, as sitemaps can be. Returns any other body unchanged. */
export async function openGzip(body: Buffer, bytesMax: number): Promise<Decompressed> {
  return isGzip(body) ? await unpack(body, 'gzip', bytesMax) : { kind: 'ok', body };
}

/** What could not be decoded, and why. */
export type Undone = Exclude<Decompressed, { readonly kind: 'ok' }>;

/**
 * Like `decompress`, but chunk by chunk, for bodies that need not be in memory completely. Takes about 100 KiB besides the body's
 * beginning. Decodes the content codings and, with `opensGzip`, a gzip file inside them. Each step may produce at most as much as in
 * `decompress`. Throws failures as created by `failed`, and rejections of `rest`.
 */
export async function* decompressInPieces(
  { body, rest }: { readonly body: Buffer; readonly rest: Pieces | null },
  { contentEncoding, bytesMax, opensGzip }: { contentEncoding: string; bytesMax: number; opensGzip: boolean },
  failed: (why: Undone) => Error,
): AsyncGenerator<Buffer> {
  const codings = codingsOf(contentEncoding);
  if (codings.length > CODINGS_MAX) throw failed(tooMany(codings));
  const outputMax = outputMaxOf(body, bytesMax);
  let pieces: Pieces = allOf(body, rest);
  for (const coding of codings) pieces = undone(pieces, coding, outputMax, failed);
  if (opensGzip) pieces = gzipUndone(pieces, outputMax, failed);
  yield* pieces;
}

async function unpack(body: Buffer, coding: string, bytesMax: number): Promise<Decompressed> {
  const undo = undoOf(coding, body);
  if (undo === null) return unknown(coding);
  // An empty body is never compressed, whatever Content-Encoding claims.
  if (body.length === 0) return { kind: 'ok', body };
  const maxOutputLength = outputMaxOf(body, bytesMax);
  try {
    return { kind: 'ok', body: await undo.whole(withoutNewline(body), { maxOutputLength }) };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'ERR_BUFFER_TOO_LARGE') return { kind: 'too_large' };
    return { kind: 'broken', detail: `${coding}: ${code}` };
  }
}

/** Servers send both formats as `deflate`. The first two bytes of a zlib header, as one number, are a multiple of 31. */
function isZlib(bytes: Buffer): boolean {
  const [first = 0, second = 0] = bytes;
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;
}

/** The last coding comes first. */
function codingsOf(contentEncoding: string): readonly string[] {
  return contentEncoding
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity')
    .reverse();
}

function tooMany(codings: readonly string[]): Undone {
  return { kind: 'broken', detail: `too many content codings: ${codings.length}` };
}

function isGzip([a, b, c]: Buffer): boolean {
  return a === 0x1f && b === 0x8b && c === 8;
}

/**
 * Scripts that send a gzip file often append a line end that does not belong to it. The last byte of a gzip file is the highest byte of its
 * length, so a file small enough to be decompressed here never ends like this. Other bodies stay unchanged.
 */
function withoutNewline(body: Buffer): Buffer {
  if (!isGzip(body)) return body;
  return body.subarray(0, lineEndsAt(body));
}

/** Choice: a longer run of line ends was not appended by a script. */
const NEWLINES_MAX = 1_024;

async function* withoutLastNewlines(pieces: Pieces): AsyncGenerator<Buffer> {
  let held = Buffer.alloc(0);
  for await (const piece of pieces) {
    const end = lineEndsAt(piece);
    if (held.length > 0 && (end > 0 || held.length > NEWLINES_MAX)) {
      yield held;
      held = Buffer.alloc(0);
    }
    if (end > 0) yield piece.subarray(0, end);
    if (end < piece.length) held = Buffer.concat([held, piece.subarray(end)]);
  }
}

/** Returns the offset at which the trailing line ends begin. */
function lineEndsAt(bytes: Buffer): number {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end--;
  return end;
}

function outputMaxOf(body: Buffer, bytesMax: number): number {
  return Math.min(bytesMax, Math.max(RATIO_FREE_BYTES, body.length * RATIO_MAX));
}

/** Choice: sixteen turns of the event loop per MiB, so that other work proceeds during a long body. */
const SLICE_BYTES = 65_536;

async function* allOf(body: Buffer, rest: Pieces | null): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += SLICE_BYTES) {
    yield body.subarray(at, at + SLICE_BYTES);
    await turn();
  }
  if (rest !== null) yield* rest;
}

async function* undone(
  pieces: Pieces,
  coding: string,
  outputMax: number,
  failed: (why: Undone) => Error,
): AsyncGenerator<Buffer> {
  const { head, all } = await withHead(pieces, 2);
  const undo = undoOf(coding, head);
  if (undo === null) throw failed(unknown(coding));
  if (head.length === 0) return;
  const stream = undo.open();
  // The callback ignores errors: they surface where the stream is read.
  pipeline(undo === GZIP ? withoutLastNewlines(all) : all, stream, () => {});
  let bytes = 0;
  try {
    for await (const piece of stream as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > outputMax) throw failed({ kind: 'too_large' });
      yield piece;
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!/^(?:Z_|ERR_)/.test(code)) throw error;
    throw failed({ kind: 'broken', detail: `${coding}: ${code}` });
  }
}

async function* gzipUndone(pieces: Pieces, outputMax: number, failed: (why: Undone) => Error): AsyncGenerator<Buffer> {
  const { head, all } = await withHead(pieces, 3);
  yield* isGzip(head) ? undone(all, 'gzip', outputMax, failed) : all;
}
