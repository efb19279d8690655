import { decodeText } from './charset.ts';

/** Old ways to write a feed that the parser does not know, as the usual ones. */
export function inUsualForm(text: string): string {
  return withoutBase64(withoutPrefix(text));
}

/** Choice: characters before the first element of a feed's channel. */
const HEAD_CHARACTERS = 65_536;

/** RSS 2.0 is in no namespace; some programs write it in one, with a prefix (`<rss2:rss>`), or all of it but the root. */
function withoutPrefix(text: string): string {
  const head = text.slice(0, HEAD_CHARACTERS);
  const root = /<(?:([\w-]+):)?rss[\s>]/i.exec(head);
  const prefix = root?.[1] ?? (root === null ? undefined : /<([\w-]+):channel[\s>]/i.exec(head)?.[1]);
  return prefix === undefined ? text : text.replaceAll(new RegExp(`(</?)${prefix}:`, 'g'), '$1');
}

/** Source: Atom 0.3, "The content Construct". An attribute's list ends at the next tag, so that an open one costs no more than itself. */
const ENCODED =
  /(<((?:[\w-]+:)?(?:content|summary|title|tagline|info|copyright))\s[^<>]*?)\bmode\s*=\s*["']base64["']([^<>]*>)([A-Za-z0-9+/=\s]*)(?=<\/\2\s*>)/gi;
const TEXT_TYPE = /\btype\s*=\s*["'](?:text\/|text["']|html["']|xhtml["']|application\/xhtml)/i;

/** What is Base64 becomes the text that it is; where it is none, a picture for one, nothing. */
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
