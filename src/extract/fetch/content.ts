import type { JsonValue } from '../connector.ts';
import { FetchFailure } from './failures.ts';

/** Texts that a page may be: HTML, XHTML, XML and plain text; what says nothing is told by its bytes. */
const PAGE_TYPE = /^(?:|text\/.*|application\/(?:xhtml\+xml|xml|[a-z0-9.-]+\+xml))$/;
/** The same and JSON: what interfaces are made of. `octet-stream` and gzip are how servers name files that they do not know. */
const TEXT_TYPE =
  /^(?:|text\/.*|application\/(?:xml|json|javascript|x-ndjson|octet-stream|gzip|x-gzip|[a-z0-9.-]+\+(?:xml|json)))$/;
/** Choice: what follows a page's first bytes is as binary as they are. */
const SNIFFED_BYTES = 1_024;
/** Choice: interfaces nest a dozen levels; deeper values overflow the stack of what walks them. */
const JSON_DEPTH_MAX = 64;

/** Lower case, without parameters. */
export function mediaType(contentType: string): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
}

export function requirePage(url: string, contentType: string, body: Buffer): void {
  if (!PAGE_TYPE.test(mediaType(contentType)) || isBinary(body)) throw unsupported(url, contentType);
}

export function requireText(url: string, contentType: string, body: Buffer): void {
  if (!TEXT_TYPE.test(mediaType(contentType)) || isBinary(body)) throw unsupported(url, contentType);
}

function unsupported(url: string, contentType: string): FetchFailure {
  return new FetchFailure('content', `${url} is ${contentType === '' ? 'no text' : contentType.slice(0, 100)}`);
}

/** NUL is in no text but UTF-16, which every second byte of tells, or its mark. */
function isBinary(body: Buffer): boolean {
  const head = body.subarray(0, SNIFFED_BYTES);
  if (!head.includes(0)) return false;
  const [first, second] = head;
  const isMarked = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return !isMarked && !(first === 0 && second === 0x3c) && !(first === 0x3c && second === 0);
}

/**
 * The JSON of an answer; null for an empty one. The type it is given under does not count, because interfaces give wrong ones; but
 * what is no JSON and is or calls itself HTML is a page that was not asked for, not broken JSON.
 */
export function parseJsonBody(url: string, contentType: string, body: Buffer): JsonValue {
  const text = body
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trim();
  if (text === '') return null;
  const value = parsed(text);
  if (value !== undefined && !isDeeperThan(value, JSON_DEPTH_MAX)) return value;
  if (value !== undefined) throw new FetchFailure('parse', `${url} nests deeper than ${JSON_DEPTH_MAX} levels`);
  if (text.startsWith('<') || mediaType(contentType).includes('html')) throw unsupported(url, contentType);
  throw new FetchFailure('parse', `${url} is not JSON`);
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

function isDeeperThan(value: JsonValue, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item: JsonValue) => isDeeperThan(item, levels - 1));
}
