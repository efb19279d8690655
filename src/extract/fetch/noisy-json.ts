/**
 * Finds JSON in a response to which the site's software has added text: warnings of PHP before it, comments of a cache behind it. A page
 * with JSON in it is not such a response.
 */

/** Choice: a dozen warnings of PHP have some 4,000 characters. */
const NOISE_CHARACTERS_MAX = 65_536;
const WARNING = /^(?:<|(?:php )?(?:warning|notice|deprecated|strict standards|fatal error|parse error)\b)/i;
const PAGE = /<(?:!doctype|html|head|body|title|meta|link|script|style)\b/i;
/** JSON begins on a line of its own or behind a tag; brackets elsewhere belong to a warning. */
const BEGINNING = /(?:^|[>\n])[^\S\n]*(?=[[{])/g;

export interface NoisyJson {
  /** Whether JSON begins behind noise, even if it is cut. */
  readonly isThere: boolean;
  /** Complete values, each with only noise around it. They still have to be parsed. */
  readonly texts: readonly string[];
}

/** `text` has no white space at its ends. Takes linear time. */
export function findNoisyJson(text: string): NoisyJson {
  const texts: string[] = [];
  let isThere = false;
  let end = 0;
  const isNoisy = WARNING.test(text);
  for (const { 0: before, index } of text.slice(0, NOISE_CHARACTERS_MAX).matchAll(BEGINNING)) {
    const start = index + before.length;
    if (start < end) continue;
    if (start > 0 && (!isNoisy || PAGE.test(text.slice(0, start)))) break;
    end = endOfValue(text, start);
    const isCut = end < 0;
    const isAlone = !isCut && /^\s*(?:<|$)/.test(text.slice(end, end + NOISE_CHARACTERS_MAX));
    isThere ||= start > 0 && (isCut || isAlone);
    if (isAlone) texts.push(text.slice(start, end));
    if (isCut) break;
  }
  return { isThere, texts };
}

/** Returns the offset behind the bracket that closes the one at `start`; -1 if there is none. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === '"') {
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++;
    } else if (character === '{' || character === '[') depth++;
    else if (character === '}' || character === ']') {
      depth--;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}
