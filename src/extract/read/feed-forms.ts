import { decodeText } from './charset.ts';
import { escapeMarkup } from './html.ts';

/** Converts old feed formats that the parser does not support to the common ones. */
export function inUsualForm(text: string): string {
  return withCategories(withoutBase64(withoutPrefix(text)));
}

/** Elements that the parser drops, by the namespace that they belong to. */
const DROPPED = [
  { namespace: /^https?:\/\/itunes\.apple\.com\/rss\/?$/, names: 'rating|version' },
  { namespace: /^https?:\/\/www\.sec\.gov\/Archives\/edgar\/?$/, names: 'formType' },
  { namespace: /^https?:\/\/arxiv\.org\/schemas\/atom\/?$/, names: 'doi' },
] as const;
const DECLARED = /\sxmlns:([\w-]{1,40})=["']([^"'<>]{1,200})["']/g;
const EXTENSION_SCHEME = 'urn:feed-extension:';

/** Returns the lower-case name of the dropped element that a category stands for; null for a category of the feed. */
export function extensionCategory(scheme: string): string | null {
  return scheme.startsWith(EXTENSION_SCHEME) ? scheme.slice(EXTENSION_SCHEME.length) : null;
}

/**
 * Turns these elements into categories, which the parser keeps in every format. EDGAR nests them in an element, whose tags are removed.
 * Elements that contain markup or quotes stay. Linear: each expression ends at the next tag.
 */
function withCategories(text: string): string {
  const prefixes = new Map(
    [...text.slice(0, HEAD_CHARACTERS).matchAll(DECLARED)].map(([, prefix, uri]) => [uri, prefix]),
  );
  let converted = text;
  for (const [uri = '', prefix] of prefixes) {
    const names = DROPPED.find(({ namespace }) => namespace.test(uri))?.names;
    if (names === undefined || prefix === undefined) continue;
    converted = converted
      .replaceAll(new RegExp(`</?${prefix}:xbrlFiling(?:\\s[^<>]*)?>`, 'gi'), '')
      .replaceAll(
        new RegExp(`<${prefix}:(${names})(?:\\s[^<>]*)?>\\s*([^<>"]{1,400})</${prefix}:\\1\\s*>`, 'gi'),
        (_all, name: string, value: string) => {
          const scheme = EXTENSION_SCHEME + name.toLowerCase();
          return `<category scheme="${scheme}" domain="${scheme}" term="${value}">${value}</category>`;
        },
      );
  }
  return converted;
}

/** Choice: maximum number of characters before the first element of a feed's channel. */
const HEAD_CHARACTERS = 65_536;

/**
 * RSS 2.0 has no namespace. Some programs give its elements a namespace prefix: all of them (`<rss2:rss>`), or all except the root.
 */
function withoutPrefix(text: string): string {
  const head = text.slice(0, HEAD_CHARACTERS);
  const root = /<(?:([\w-]+):)?rss[\s>]/i.exec(head);
  const prefix = root?.[1] ?? (root === null ? undefined : /<([\w-]+):channel[\s>]/i.exec(head)?.[1]);
  return prefix === undefined ? text : text.replaceAll(new RegExp(`(</?)${prefix}:`, 'g'), '$1');
}

/** Source: Atom 0.3, "The content Construct". An attribute list ends at the next tag, so that an unclosed one costs no more than itself. */
const CONSTRUCT = /<((?:[\w-]+:)?(?:content|summary|title|tagline|info|copyright))(\s[^<>]*)>/gi;
const BASE64_MODE = /\bmode\s*=\s*["']base64["']/i;
const ENCODED = /[A-Za-z0-9+/=\s]*/y;
const END = /\s*>/y;
const TEXT_TYPE = /\btype\s*=\s*["'](?:text\/|text["']|html["']|xhtml["']|application\/xhtml)/i;

/**
 * Replaces Base64 by the text that it encodes, or by nothing if it encodes something else, such as an image. Tag by tag, which takes linear
 * time: one expression for tag and content took 0.6 s for a tag with 4,000 such attributes, and the square of that for more (measured).
 */
function withoutBase64(text: string): string {
  if (!BASE64_MODE.test(text)) return text;
  const parts: string[] = [];
  let at = 0;
  for (const tag of text.matchAll(CONSTRUCT)) {
    const [open, name = '', attributes = ''] = tag;
    const from = tag.index + open.length;
    ENCODED.lastIndex = from;
    const encoded = BASE64_MODE.test(attributes) ? ENCODED.exec(text)?.[0] : undefined;
    if (encoded === undefined || !closes(text, from + encoded.length, name)) continue;
    const isText = TEXT_TYPE.test(attributes) || !/\btype\s*=/i.test(attributes);
    parts.push(text.slice(at, tag.index), `<${name}`, attributes.replace(BASE64_MODE, 'mode="escaped"'), '>');
    if (isText) parts.push(escapeMarkup(decodeText(Buffer.from(encoded, 'base64'), null).text));
    at = from + encoded.length;
  }
  return parts.join('') + text.slice(at);
}

/** Returns whether the closing tag of that name is here, in any case. */
function closes(text: string, at: number, name: string): boolean {
  const end = at + 2 + name.length;
  END.lastIndex = end;
  return text.slice(at, end).toLowerCase() === `</${name.toLowerCase()}` && END.test(text);
}
