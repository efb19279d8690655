import { isAscii, isUtf8 } from 'node:buffer';

/**
 * Decodes bytes to text. The first of these determines the encoding: byte order mark, `Content-Type`, the page or XML declaration in its
 * first 1,024 bytes. Without any, the encoding is UTF-8 if the bytes are valid UTF-8, else windows-1252.
 * Source: HTML standard, "Determining the character encoding"; Encoding standard for the labels.
 *
 * Choice: a declared encoding is ignored if the bytes contradict it, because servers declare one encoding for files of all kinds. Text
 * declared as UTF-8 that has more invalid than valid sequences gets the next declared encoding, or windows-1252. Text declared as another
 * encoding that is valid UTF-8 with characters beyond ASCII is UTF-8, because other text is valid UTF-8 only by rare chance. For Latin-1,
 * windows-1252 and ASCII, which are one encoding on the web, one such character is enough; for all others see `CERTAIN_CHARACTERS`. A
 * declaration of UTF-16 is always accepted: for English text its bytes are NULs and ASCII, and so valid UTF-8.
 * Source: RFC 3629, section 3, of how seldom text of other encodings is valid UTF-8.
 */
export interface Decoded {
  readonly text: string;
  /** Name of the encoding in lower case. */
  readonly charset: string;
}

/**
 * Choice: with at least this many characters beyond ASCII, valid UTF-8 counts as UTF-8 even if a non-Western encoding is declared.
 * Measured: of 32,682 names of countries, languages and currencies, each in the encodings of its language (Chinese, Japanese, Korean, Thai,
 * Cyrillic, Greek, Hebrew, Arabic, Central European; 30 in all), 13 are valid UTF-8 by chance; one would be 6 such characters, the others 3
 * at most.
 */
const CERTAIN_CHARACTERS = 10;

/** Source: HTML standard, "prescan a byte stream to determine its encoding". */
const PRESCAN_BYTES = 1_024;

/** Decodes a text. Never throws: bytes that are invalid in the encoding become U+FFFD. `contentType` is the complete header value. */
export function decodeText(bytes: Uint8Array, contentType: string | null): Decoded {
  const charset = byMark(bytes) ?? byWord(bytes, contentType, bytes);
  return { text: decode(bytes, charset), charset };
}

/**
 * Like `decodeText` for text that arrives in chunks. `head` contains the first bytes, which determine the encoding. A character may be
 * split between chunks; `isLast` marks the last one.
 */
export function textDecoder(
  head: Uint8Array,
  contentType: string | null,
): (bytes: Uint8Array, isLast: boolean) => string {
  const charset = byMark(head) ?? byWord(head, contentType, withoutCut(head));
  if (!isAscii(head) || !readsAscii(charset)) return decoderOf(charset);
  // So far the text is the same in UTF-8. The first bytes beyond ASCII decide.
  let decode: ReturnType<typeof decoderOf> | null = null;
  return (bytes, isLast) => {
    if (decode === null && isAscii(bytes)) return latin1(bytes);
    decode ??= decoderOf(byWord(head, contentType, withoutCut(bytes)));
    return decode(bytes, isLast);
  };
}

/**
 * Returns whether ASCII bytes are ASCII text in this encoding. True for all except UTF-16 and an encoding that shifts with escape
 * sequences.
 */
function readsAscii(charset: string): boolean {
  return !charset.startsWith('utf-16') && charset !== 'iso-2022-jp';
}

function decoderOf(charset: string): (bytes: Uint8Array, isLast: boolean) => string {
  if (charset === WESTERN) return windows1252;
  const decoder = new TextDecoder(charset);
  return (bytes, isLast) => decoder.decode(bytes, { stream: !isLast });
}

/** Removes an incomplete UTF-8 character at the end. */
function withoutCut(bytes: Uint8Array): Uint8Array {
  let lead = bytes.length - 1;
  while (lead > bytes.length - 4 && ((bytes[lead] ?? 0) & 0xc0) === 0x80) lead--;
  const first = bytes[lead] ?? 0;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return bytes.length - lead < length ? bytes.subarray(0, lead) : bytes;
}

const WESTERN = 'windows-1252';

/** Returns the first declared encoding that is compatible with `evidence`, which is the whole text or a part of it. */
function byWord(head: Uint8Array, contentType: string | null, evidence: Uint8Array): string {
  for (const said of [charsetOf(labelIn(contentType)), byPrescan(head)]) {
    if (said === null || (said === 'utf-8' && !mayBeUtf8(evidence))) continue;
    if (said.startsWith('utf-16')) return said;
    return isUtf8BeyondAscii(evidence, said === WESTERN ? 1 : CERTAIN_CHARACTERS) ? 'utf-8' : said;
  }
  return isUtf8(evidence) || isUtf8BeyondAscii(evidence, 1) ? 'utf-8' : WESTERN;
}

/** Returns true for valid UTF-8, ignoring a character cut off at the end, and for text with more valid than invalid sequences. */
function mayBeUtf8(bytes: Uint8Array): boolean {
  if (isUtf8(bytes) || wholeUtf8(bytes) !== null) return true;
  const { whole, broken } = countUtf8(new TextDecoder('utf-8').decode(bytes));
  return whole > broken;
}

/** Returns whether the bytes are valid UTF-8 with at least this many multi-byte characters. */
function isUtf8BeyondAscii(bytes: Uint8Array, charactersMin: number): boolean {
  const text = wholeUtf8(bytes);
  return text !== null && countUtf8(text).whole >= charactersMin;
}

/** Decodes without a character cut off at the end; null if anything else is not UTF-8. */
function wholeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return null;
  }
}

/** Counts characters beyond ASCII, and invalid sequences. */
function countUtf8(text: string): { readonly whole: number; readonly broken: number } {
  let whole = 0;
  let broken = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0xfffd) broken++;
    else if (code > 0x7f) whole++;
  }
  return { whole, broken };
}

function byMark([a, b, c]: Uint8Array): string | null {
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  return a === 0xff && b === 0xfe ? 'utf-16le' : null;
}

function labelIn(text: string | null): string | null {
  const match = /charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"'>]+))/i.exec(text ?? '');
  return match?.[1] ?? match?.[2] ?? match?.[3] ?? null;
}

/** Returns the name of the encoding with this label; null if there is none. */
function charsetOf(label: string | null): string | null {
  if (label === null) return null;
  try {
    return new TextDecoder(label.trim()).encoding;
  } catch {
    return null;
  }
}

/** Reads `<meta charset>`, `<meta http-equiv content>` and `<?xml encoding?>`, but not in comments. */
function byPrescan(bytes: Uint8Array): string | null {
  if (bytes[0] === 0x3c && bytes[1] === 0 && bytes[2] === 0x3f) return 'utf-16le';
  if (bytes[0] === 0 && bytes[1] === 0x3c && bytes[2] === 0) return 'utf-16be';
  const head = latin1(bytes.subarray(0, PRESCAN_BYTES)).replaceAll(/<!--[\s\S]*?(?:-->|$)/g, '');
  const declared = /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([^"']+)["']/i.exec(head)?.[1];
  const metas = head.match(/<meta[\s/][^>]*>/gi) ?? [];
  for (const label of [declared, ...metas.map(labelIn)]) {
    const charset = charsetOf(label ?? null);
    if (charset === null) continue;
    // The declaration was read as ASCII, so the text is not UTF-16, whatever it declares. Source: HTML standard, the same section.
    return charset.startsWith('utf-16') ? 'utf-8' : charset;
  }
  return null;
}

function decode(bytes: Uint8Array, charset: string): string {
  if (charset === WESTERN) return windows1252(bytes);
  return new TextDecoder(charset).decode(bytes);
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

/** The 32 code points in which windows-1252 differs from Latin-1. Source: Encoding standard, index windows-1252. */
const UPPER =
  '\u20AC\u0081\u201A\u0192\u201E\u2026\u2020\u2021\u02C6\u2030\u0160\u2039\u0152\u008D\u017D\u008F\u0090\u2018\u2019\u201C\u201D\u2022\u2013\u2014\u02DC\u2122\u0161\u203A\u0153\u009D\u017E\u0178';

/** Implemented here because some releases of Node.js decode windows-1252 as Latin-1. */
function windows1252(bytes: Uint8Array): string {
  return latin1(bytes).replaceAll(/[\u0080-\u009F]/g, (c) => UPPER[c.charCodeAt(0) - 0x80] ?? c);
}
