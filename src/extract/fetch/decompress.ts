import { pipeline, type Transform } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  brotliDecompress,
  createBrotliDecompress,
  createInflate,
  createInflateRaw,
  gunzip,
  inflate,
  inflateRaw,
  type InputType,
  type ZlibOptions,
} from 'node:zlib';
import { gunzipped, isGzip } from './gunzip.ts';
import { withFirstPieces, type Pieces } from './pieces.ts';

export type Decompressed =
  | { readonly kind: 'ok'; readonly body: Buffer }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'broken'; readonly detail: string };

/** How to decode one content coding: at once, and chunk by chunk. */
interface Undo {
  readonly whole: (bytes: InputType, options: ZlibOptions) => Promise<Buffer>;
  readonly streamed: (pieces: Pieces) => AsyncIterable<Buffer>;
}

const GZIP: Undo = { whole: promisify(gunzip), streamed: gunzipped };
const ZLIB: Undo = { whole: promisify(inflate), streamed: through(() => createInflate()) };
const BARE_DEFLATE: Undo = { whole: promisify(inflateRaw), streamed: through(() => createInflateRaw()) };
const BROTLI: Undo = {
  whole: promisify(brotliDecompress) as Undo['whole'],
  streamed: through(() => createBrotliDecompress()),
};

function through(open: () => Transform): Undo['streamed'] {
  return (pieces) => {
    const stream = open();
    // The callback ignores errors: they surface where the stream is read.
    pipeline(pieces, stream, () => {});
    return stream as AsyncIterable<Buffer>;
  };
}

const READABLE = new Set(['gzip', 'x-gzip', 'deflate', 'br']);
/** Registered, never asked for. Source: IANA, HTTP content coding registry. */
const UNREADABLE = new Set(['compress', 'x-compress', 'zstd', 'dcb', 'dcz', 'exi', 'pack200-gzip', 'aes128gcm']);

/** Selects the decoder by the coding's name and the first bytes; null for a coding that is never asked for. */
function undoOf(coding: string, head: Buffer): Undo | null {
  if (UNREADABLE.has(coding)) return null;
  if (coding === 'deflate') return isZlib(head) ? ZLIB : BARE_DEFLATE;
  return coding === 'br' ? BROTLI : GZIP;
}

function unread(coding: string): Undone {
  return { kind: 'broken', detail: `the content coding ${coding}` };
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
  if (undo === null) return unread(coding);
  // An empty body is never compressed, whatever Content-Encoding claims.
  if (body.length === 0) return { kind: 'ok', body };
  const maxOutputLength = outputMaxOf(body, bytesMax);
  try {
    return { kind: 'ok', body: await undo.whole(body, { maxOutputLength }) };
  } catch (error) {
    if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE') return { kind: 'too_large' };
    return undo === GZIP ? await unpackFreely(body, coding, maxOutputLength) : brokenBy(coding, error);
  }
}

/** Decompresses a gzip file that the library refuses: `gunzipped` accepts more. */
async function unpackFreely(body: Buffer, coding: string, outputMax: number): Promise<Decompressed> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of gunzipped(allOf(body, null))) {
      bytes += chunk.length;
      if (bytes > outputMax) return { kind: 'too_large' };
      chunks.push(chunk);
    }
    return { kind: 'ok', body: Buffer.concat(chunks) };
  } catch (error) {
    return brokenBy(coding, error);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function brokenBy(coding: string, error: unknown): Undone {
  return { kind: 'broken', detail: `${coding}: ${codeOf(error)}` };
}

/** Servers send both formats as `deflate`. The first two bytes of a zlib header, as one number, are a multiple of 31. */
function isZlib(bytes: Buffer): boolean {
  const [first = 0, second = 0] = bytes;
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;
}

/**
 * The last coding comes first. A word that is no registered coding, such as `none` or `utf-8`, changes nothing, as in browsers.
 * Source: Fetch, "handle content codings".
 */
function codingsOf(contentEncoding: string): readonly string[] {
  return contentEncoding
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => READABLE.has(coding) || UNREADABLE.has(coding))
    .reverse();
}

function tooMany(codings: readonly string[]): Undone {
  return { kind: 'broken', detail: `too many content codings: ${codings.length}` };
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
  const { head, all } = await withFirstPieces(pieces, 2);
  const undo = undoOf(coding, head);
  if (undo === null) throw failed(unread(coding));
  if (head.length === 0) return;
  let bytes = 0;
  try {
    for await (const piece of undo.streamed(all)) {
      bytes += piece.length;
      if (bytes > outputMax) throw failed({ kind: 'too_large' });
      yield piece;
    }
  } catch (error) {
    if (!/^(?:Z_|ERR_)/.test(codeOf(error))) throw error;
    throw failed(brokenBy(coding, error));
  }
}

async function* gzipUndone(pieces: Pieces, outputMax: number, failed: (why: Undone) => Error): AsyncGenerator<Buffer> {
  const { head, all } = await withFirstPieces(pieces, 3);
  yield* isGzip(head) ? undone(all, 'gzip', outputMax, failed) : all;
}
