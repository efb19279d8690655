import type { JsonValue } from '../base/connector.ts';
import { findNoisyJson } from './noisy-json.ts';
import { FetchFailure } from './source-failure.ts';

/** Media types of pages: HTML, XHTML, XML and plain text. If there is no type, the bytes decide. */
const PAGE_TYPE = /^(?:|text\/.*|application\/(?:xhtml\+xml|xml|[a-z0-9.-]+\+xml))$/;
/** The same plus JSON: the types that interfaces use. Servers send `octet-stream` and gzip types for files that they do not recognise. */
const TEXT_TYPE =
  /^(?:|text\/.*|binary\/octet-stream|application\/(?:xml|json|javascript|x-ndjson|octet-stream|gzip|x-gzip|x-gunzip|x-gzip-compressed|[a-z0-9.-]+\+(?:xml|json)))$/;
/** Choice: if the first bytes of a page are text, so is the rest. */
const SNIFFED_BYTES = 1_024;
/** Choice: interfaces nest a dozen levels. Deeper values overflow the stack of code that traverses them. */
const JSON_DEPTH_MAX = 64;
/**
 * Choice: maximum number of values of one response. The longest pages of interfaces have some 50,000.
 * Measured: parsing 10 MiB grows the process by 668 MiB if they consist only of brackets, and by 233 MiB for empty objects; with this limit
 * by at most 9.
 */
const JSON_VALUES_MAX = 500_000;

/** Returns the media type in lower case, without parameters. */
export function mediaType(contentType: string): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
}

export function requirePage(url: string, contentType: string, body: Buffer): void {
  if (!PAGE_TYPE.test(mediaType(contentType)) || isBinary(body)) throw unsupported(url, contentType);
}

export function requireText(url: string, contentType: string, body: Buffer): void {
  if (!TEXT_TYPE.test(mediaType(contentType)) || isBinary(body)) throw unsupported(url, contentType);
}

/** Choice: the part before a document's first element is seldom longer. */
const PROLOGUE_CHARACTERS = 1_024;
const HTML_TYPE = /^(?:text\/html|application\/xhtml\+xml)$/;
const PROLOGUE = /^(?:\s+|<\?[^>]*>|<!--[\s\S]*?-->)+/;
const HTML_ROOT = /^<(?:!doctype\s+html|html)[\s/>]/i;
/** Feeds and sitemaps, whatever media type they have. */
const OTHER_ROOT = /^(?:\{|<(?:rss|(?:[\w-]+:)?rdf|(?:[\w-]+:)?feed|urlset|sitemapindex)[\s/>])/i;

/** Returns whether a text is an HTML page, by its beginning or else by its media type. */
export function isHtmlPage(contentType: string, text: string): boolean {
  const root = text.slice(0, PROLOGUE_CHARACTERS).replace(PROLOGUE, '');
  if (HTML_ROOT.test(root)) return true;
  return HTML_TYPE.test(contentType) && !OTHER_ROOT.test(root);
}

function unsupported(url: string, contentType: string): FetchFailure {
  return new FetchFailure('content', `${url} is ${contentType === '' ? 'no text' : contentType.slice(0, 100)}`);
}

/** Choice: markup with no more NUL bytes than this in its first bytes is text with a few of them copied into it. */
const STRAY_NULS_MAX = 8;
const MARKUP = /^(?:\xef\xbb\xbf)?\s*<[!?a-z]/i;

/**
 * NUL occurs in UTF-16 text, which is recognised by NUL in every second byte or by its byte order mark, and seldom in a page, which begins
 * with a tag and is read without it.
 */
function isBinary(body: Buffer): boolean {
  const head = body.subarray(0, SNIFFED_BYTES);
  if (!head.includes(0)) return false;
  const nuls = head.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0);
  if (nuls <= STRAY_NULS_MAX && MARKUP.test(head.toString('latin1'))) return false;
  const [first, second] = head;
  const isMarked = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return !isMarked && !(first === 0 && second === 0x3c) && !(first === 0x3c && second === 0);
}

/**
 * Parses a JSON response, also among warnings and comments; null if it is empty. Ignores its media type, because interfaces send wrong
 * ones. But a body without JSON that is HTML or has an HTML media type is an unexpected page and not broken JSON.
 */
export function parseJsonBody(url: string, contentType: string, body: Buffer): JsonValue {
  // Byte order marks count as white space.
  const text = body.toString('utf8').trim();
  if (text === '') return null;
  // Markup is skipped: the parser rejects it at its first character, and it is then reported as a page.
  if (!text.startsWith('<')) requireModest(url, body);
  const value = parsed(text);
  if (value !== undefined) return value;
  const { isThere, texts } = findNoisyJson(text);
  for (const one of texts) {
    requireModest(url, Buffer.from(one));
    const found = parsed(one);
    if (found !== undefined) return found;
  }
  const isPage = text.startsWith('<') || mediaType(contentType).includes('html');
  if (isPage && !isThere) throw unsupported(url, contentType);
  throw new FetchFailure('parse', `${url} is not JSON`);
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

function requireModest(url: string, body: Uint8Array): void {
  const { depth, values } = shapeOf(body);
  if (depth > JSON_DEPTH_MAX) throw new FetchFailure('parse', `${url} nests deeper than ${JSON_DEPTH_MAX} levels`);
  if (values > JSON_VALUES_MAX) throw new FetchFailure('parse', `${url} has more than ${JSON_VALUES_MAX} values`);
}

/**
 * Returns the nesting depth of a JSON text and the maximum number of its values, in one pass over its bytes: the parser can build a large
 * value from a few bytes. For bytes that are not JSON the counts mean nothing, but bytes that exceed the limits are not worth parsing.
 */
function shapeOf(body: Uint8Array): { readonly depth: number; readonly values: number } {
  let depth = 0;
  let deepest = 0;
  let values = 1;
  const { length } = body;
  for (let i = 0; i < length; i++) {
    switch (body[i] ?? 0) {
      case 0x22: // String: skip to its end.
        for (i++; i < length && body[i] !== 0x22; i++) if (body[i] === 0x5c) i++;
        break;
      case 0x5b:
      case 0x7b:
        depth++;
        values++;
        if (depth > deepest) deepest = depth;
        break;
      case 0x5d:
      case 0x7d:
        depth--;
        break;
      case 0x2c:
        values++;
        break;
      default:
    }
  }
  return { depth: deepest, values };
}
