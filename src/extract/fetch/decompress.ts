import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, type InputType, type ZlibOptions } from 'node:zlib';

export type Decompressed =
  | { readonly kind: 'ok'; readonly body: Buffer }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'broken'; readonly detail: string };

type Unpack = (bytes: InputType, options: ZlibOptions) => Promise<Buffer>;

const UNPACK: Readonly<Record<string, Unpack>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: (bytes, options) => (isZlib(bytes as Buffer) ? inflateZlib : inflateBare)(bytes, options),
  br: promisify(brotliDecompress) as Unpack,
};
const inflateZlib: Unpack = promisify(inflate);
const inflateBare: Unpack = promisify(inflateRaw);

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
  const codings = contentEncoding
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length > CODINGS_MAX) return { kind: 'broken', detail: `${codings.length} content codings` };
  let unpacked = body;
  for (const coding of codings.reverse()) {
    const step = await unpack(unpacked, coding, bytesMax);
    if (step.kind !== 'ok') return step;
    unpacked = step.body;
  }
  return unpacked.length > bytesMax ? { kind: 'too_large' } : { kind: 'ok', body: unpacked };
}

/** A body that is a gzip file by itself, as sitemaps are, is opened; any other is left as it is. */
export async function openGzip(body: Buffer, bytesMax: number): Promise<Decompressed> {
  const isGzip = body[0] === 0x1f && body[1] === 0x8b && body[2] === 8;
  return isGzip ? await unpack(body, 'gzip', bytesMax) : { kind: 'ok', body };
}

async function unpack(body: Buffer, coding: string, bytesMax: number): Promise<Decompressed> {
  const undo = Object.hasOwn(UNPACK, coding) ? UNPACK[coding] : undefined;
  if (undo === undefined) return { kind: 'broken', detail: `the content coding ${coding.slice(0, 32)}` };
  // A body without a byte is none that was packed, whatever the header says.
  if (body.length === 0) return { kind: 'ok', body };
  const maxOutputLength = Math.min(bytesMax, Math.max(RATIO_FREE_BYTES, body.length * RATIO_MAX));
  try {
    return { kind: 'ok', body: await undo(body, { maxOutputLength }) };
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
