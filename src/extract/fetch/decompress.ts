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

/** How one content coding is undone: at once, and piece by piece. */
interface Undo {
  readonly whole: (bytes: InputType, options: ZlibOptions) => Promise<Buffer>;
  readonly open: () => Transform;
}

const GZIP: Undo = { whole: promisify(gunzip), open: () => createGunzip() };
const ZLIB: Undo = { whole: promisify(inflate), open: () => createInflate() };
const BARE_DEFLATE: Undo = { whole: promisify(inflateRaw), open: () => createInflateRaw() };
const BROTLI: Undo = { whole: promisify(brotliDecompress) as Undo['whole'], open: () => createBrotliDecompress() };

/** By its name and its first bytes; null for one that is not known. */
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

/** What is sent as `Accept-Encoding`. */
export const ACCEPTED_ENCODINGS = 'gzip, deflate, br';

/** Choice: one of the server's own and one of something before it. */
const CODINGS_MAX = 2;
/** Choice: real pages are packed up to some 30 times, and long tables of the same to 100; a bomb begins at 1,000. */
const RATIO_MAX = 250;
/** Choice: below this a ratio says nothing and does no harm. */
const RATIO_FREE_BYTES = 1_048_576;

/**
 * Undoes the codings of `Content-Encoding`, the last one first. Output beyond `bytesMax`, or beyond what the input can honestly
 * hold, is never made: unpacking stops there.
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

/** A body that is a gzip file by itself, as sitemaps are, is opened; any other is left as it is. */
export async function openGzip(body: Buffer, bytesMax: number): Promise<Decompressed> {
  return isGzip(body) ? await unpack(body, 'gzip', bytesMax) : { kind: 'ok', body };
}

/** What was not undone, and why. */
export type Undone = Exclude<Decompressed, { readonly kind: 'ok' }>;

/**
 * The same piece by piece, for what need not stand in memory whole: beside the body's beginning it takes some 100 KiB. Both codings
 * and, with `opensGzip`, a gzip file in them are undone; all steps together may make as much as one of `decompress`. What fails is
 * thrown as `failed` makes it, and as `rest` does.
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
  // A body without a byte is none that was packed, whatever the header says.
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

/** Servers send both under the name of `deflate`; the two bytes of a zlib header are a multiple of 31. */
function isZlib(bytes: Buffer): boolean {
  const [first = 0, second = 0] = bytes;
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;
}

/** The last one first. */
function codingsOf(contentEncoding: string): readonly string[] {
  return contentEncoding
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity')
    .reverse();
}

function tooMany(codings: readonly string[]): Undone {
  return { kind: 'broken', detail: `${codings.length} content codings` };
}

function isGzip([a, b, c]: Buffer): boolean {
  return a === 0x1f && b === 0x8b && c === 8;
}

/**
 * Scripts that send a gzip file often send a line's end behind it, which is no part of it. The last byte of a file is the highest of
 * its length, so none of what may be unpacked here ends like this. What is no gzip file stays as it is.
 */
function withoutNewline(body: Buffer): Buffer {
  if (!isGzip(body)) return body;
  return body.subarray(0, lineEndsAt(body));
}

/** Choice: more line ends than that in a row are none that a script has added. */
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

/** Where the bytes that end lines begin with which it ends. */
function lineEndsAt(bytes: Buffer): number {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end--;
  return end;
}

function outputMaxOf(body: Buffer, bytesMax: number): number {
  return Math.min(bytesMax, Math.max(RATIO_FREE_BYTES, body.length * RATIO_MAX));
}

/** Choice: sixteen turns of the event loop for each MiB, so that a long body lets others through. */
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
  // Its end, orderly or not, is told where the stream is read.
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
