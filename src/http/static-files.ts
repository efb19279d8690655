import { hash } from 'node:crypto';
import type { Exchange, Handler, StreamedBody } from './exchange.ts';
import { ANSWER_PIECE_BYTES } from '../kernel/limits.ts';

/** The bytes of a file, and the same compressed by the build; null where that is not smaller. */
export interface StaticContent {
  readonly identity: Uint8Array;
  readonly br: Uint8Array | null;
  readonly gzip: Uint8Array | null;
}

export interface StaticFile {
  readonly contentType: string;
  /** The path contains a hash of the content: clients keep the file for a year and never ask again. */
  readonly isImmutable: boolean;
  /** For a file that is not immutable; `no-cache` by default. */
  readonly cacheControl?: string;
  /** Further header lines, each beginning with CRLF. */
  readonly fields?: string;
  /** Called at the first request, so that a file does not delay the start. */
  readonly load: () => StaticContent;
}

type Coding = keyof StaticContent;

/** Preferred first. */
const CODINGS = ['br', 'gzip', 'identity'] as const satisfies readonly Coding[];

/** One encoding of a file, ready to be sent. */
interface Variant {
  readonly coding: Coding;
  readonly bytes: Uint8Array;
  /** Strong, and different for each encoding. */
  readonly etag: string;
}

/**
 * Returns the handler of GET for one file, which is served from memory. A file exists at exactly the path of its route, so no path leads
 * to the file system.
 */
export function staticFile(file: StaticFile): Handler {
  const { contentType, isImmutable, load, fields: more = '' } = file;
  let variants: readonly Variant[] | null = null;
  const cacheControl = isImmutable ? 'public, max-age=31536000, immutable' : (file.cacheControl ?? 'no-cache');
  return (head, exchange) => {
    variants ??= variantsOf(load());
    const { coding, bytes, etag } = bestOf(variants, head.cold.get('accept-encoding'));
    const common =
      `${contentType}\r\nCache-Control: ${cacheControl}\r\nETag: ${etag}\r\nVary: Accept-Encoding` +
      `\r\nX-Content-Type-Options: nosniff${more}`;
    if (isKnown(head.cold.get('if-none-match'), etag)) exchange.send(304, common, '');
    else {
      const fields = coding === 'identity' ? common : `${common}\r\nContent-Encoding: ${coding}`;
      sendBytes(exchange, fields, bytes, head.method === 'HEAD');
    }
  };
}

/** Sends long content in pieces, so that a slow client makes the transport copy no more than one of them. */
function sendBytes(exchange: Exchange, fields: string, bytes: Uint8Array, isHead: boolean): void {
  if (isHead || bytes.length <= ANSWER_PIECE_BYTES) exchange.send(200, fields, bytes);
  else void exchange.sendStream(200, fields, inOnePiece(bytes));
}

function inOnePiece(bytes: Uint8Array): StreamedBody {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield bytes;
  }
  return { bytes: bytes.length, pieces: pieces() };
}

function variantsOf(content: StaticContent): readonly Variant[] {
  return CODINGS.flatMap((coding) => {
    const bytes = content[coding];
    return bytes === null ? [] : [{ coding, bytes, etag: `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"` }];
  });
}

/** Returns the variant that the client likes best; among equals the smallest one, uncompressed if it accepts no other. */
function bestOf(variants: readonly Variant[], acceptEncoding: string): Variant {
  const accepted = qualities(acceptEncoding);
  const weighed = variants.map((variant) => ({ variant, quality: qualityOf(variant.coding, accepted) }));
  const [best] = weighed.toSorted((a, b) => b.quality - a.quality);
  if (best === undefined) throw new Error('a static file has no content');
  return best.variant;
}

/** Lower than any quality that can be written, so that a listed coding wins. */
const UNLISTED_IDENTITY_QUALITY = 0.000_1;

function qualityOf(coding: Coding, accepted: ReadonlyMap<string, number>): number {
  const listed = accepted.get(coding) ?? accepted.get('*') ?? 0;
  // Refusing even the uncompressed file would leave nothing to send.
  return coding === 'identity' ? Math.max(listed, UNLISTED_IDENTITY_QUALITY) : listed;
}

/** Parses Accept-Encoding: coding in lower case → quality, 0 to 1. A malformed quality counts as 0. Source: RFC 9110, 12.5.3. */
function qualities(acceptEncoding: string): ReadonlyMap<string, number> {
  const entries = acceptEncoding.toLowerCase().split(',');
  return new Map(
    entries.map((entry) => {
      const [coding = '', ...parameters] = entry.split(';').map((part) => part.trim());
      const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
      return [coding, /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(quality) ? Number(quality) : 0];
    }),
  );
}

/** Compares weakly, as If-None-Match requires. Source: RFC 9110, 13.1.2. */
function isKnown(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === '') return false;
  return ifNoneMatch.split(',').some((text) => {
    const known = text.trim();
    return known === '*' || known.replace(/^W\//, '') === etag;
  });
}
