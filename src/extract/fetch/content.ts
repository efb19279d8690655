import type { JsonValue } from '../connector.ts';
import { FetchFailure } from './failures.ts';

/** Texts that a page may be: HTML, XHTML, XML and plain text; what says nothing is told by its bytes. */
const PAGE_TYPE = /^(?:|text\/.*|application\/(?:xhtml\+xml|xml|[a-z0-9.-]+\+xml))$/;
/** The same and JSON: what interfaces are made of. `octet-stream` and gzip are how servers name files that they do not know. */
const TEXT_TYPE =
  /^(?:|text\/.*|binary\/octet-stream|application\/(?:xml|json|javascript|x-ndjson|octet-stream|gzip|x-gzip|x-gunzip|x-gzip-compressed|[a-z0-9.-]+\+(?:xml|json)))$/;
/** Choice: what follows a page's first bytes is as binary as they are. */
const SNIFFED_BYTES = 1_024;
/** Choice: interfaces nest a dozen levels; deeper values overflow the stack of what walks them. */
const JSON_DEPTH_MAX = 64;
/**
 * Choice: values of one answer; the longest pages of interfaces have some 50,000.
 * Measured: 10 MiB take the process up by 668 MiB as brackets alone and by 233 MiB as empty objects, with this bound by 9 at most.
 */
const JSON_VALUES_MAX = 500_000;

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

/** Choice: what stands before a document's first element is seldom longer. */
const PROLOGUE_CHARACTERS = 1_024;
const HTML_TYPE = /^(?:text\/html|application\/xhtml\+xml)$/;
const PROLOGUE = /^(?:\s+|<\?[^>]*>|<!--[\s\S]*?-->)+/;
const HTML_ROOT = /^<(?:!doctype\s+html|html)[\s/>]/i;
/** Feeds and sitemaps, whatever type they are given under. */
const OTHER_ROOT = /^(?:\{|<(?:rss|(?:[\w-]+:)?rdf|(?:[\w-]+:)?feed|urlset|sitemapindex)[\s/>])/i;

/** Whether a text is an HTML page: by how it begins, else by its media type. */
export function isHtmlPage(contentType: string, text: string): boolean {
  const root = text.slice(0, PROLOGUE_CHARACTERS).replace(PROLOGUE, '');
  if (HTML_ROOT.test(root)) return true;
  return HTML_TYPE.test(contentType) && !OTHER_ROOT.test(root);
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
  // Markup is refused by the parser at its first character, as what it is.
  if (!text.startsWith('<')) requireModest(url, body);
  const value = parsed(text);
  if (value !== undefined) return value;
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

function requireModest(url: string, body: Uint8Array): void {
  const { depth, values } = shapeOf(body);
  if (depth > JSON_DEPTH_MAX) throw new FetchFailure('parse', `${url} nests deeper than ${JSON_DEPTH_MAX} levels`);
  if (values > JSON_VALUES_MAX) throw new FetchFailure('parse', `${url} has more than ${JSON_VALUES_MAX} values`);
}

/**
 * How deep the values of a JSON text nest and how many there are at most, from one pass over its bytes: what the parser makes of a
 * few bytes may be large. Of bytes that are no JSON the counts mean nothing, and those that nest or go on like this are none worth
 * parsing.
 */
function shapeOf(body: Uint8Array): { readonly depth: number; readonly values: number } {
  let depth = 0;
  let deepest = 0;
  let values = 1;
  const { length } = body;
  for (let i = 0; i < length; i++) {
    switch (body[i] ?? 0) {
      case 0x22: // a string: skip to its end
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
