import { decodeText } from './charset.ts';

/** Converts old feed formats that the parser does not support to the common ones. */
export function inUsualForm(text: string): string {
  return withoutBase64(withoutPrefix(text));
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
const ENCODED =
  /(<((?:[\w-]+:)?(?:content|summary|title|tagline|info|copyright))\s[^<>]*?)\bmode\s*=\s*["']base64["']([^<>]*>)([A-Za-z0-9+/=\s]*)(?=<\/\2\s*>)/gi;
const TEXT_TYPE = /\btype\s*=\s*["'](?:text\/|text["']|html["']|xhtml["']|application\/xhtml)/i;

/** Replaces Base64 by the text that it encodes, or by nothing if it encodes something else, such as an image. */
function withoutBase64(text: string): string {
  if (!/\bmode\s*=\s*["']base64["']/i.test(text)) return text;
  return text.replaceAll(ENCODED, (_all, before: string, _name, after: string, encoded: string) => {
    const isText = TEXT_TYPE.test(before + after) || !/\btype\s*=/i.test(before + after);
    return `${before}mode="escaped"${after}${isText ? escaped(decodeText(Buffer.from(encoded, 'base64'), null).text) : ''}`;
  });
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
