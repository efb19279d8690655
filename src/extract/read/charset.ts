/**
 * Bytes to text, by the first that says how: byte order mark, `Content-Type`, what the page or the XML declaration says in its
 * first 1,024 bytes, and where nothing does, UTF-8 if the bytes are that, else windows-1252.
 * Source: HTML standard, "Determining the character encoding"; Encoding standard for the labels.
 */
export interface Decoded {
  readonly text: string;
  /** The encoding's name, lower case. */
  readonly charset: string;
}

/** Source: HTML standard, "prescan a byte stream to determine its encoding". */
const PRESCAN_BYTES = 1_024;

/** Never throws: bytes that the encoding does not have become U+FFFD. `contentType` is the header's whole value. */
export function decodeText(bytes: Uint8Array, contentType: string | null): Decoded {
  const charset = byMark(bytes) ?? charsetOf(labelIn(contentType)) ?? byPrescan(bytes) ?? byValidity(bytes);
  return { text: decode(bytes, charset), charset };
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

/** The name of the encoding that has this label; null where none has. */
function charsetOf(label: string | null): string | null {
  if (label === null) return null;
  try {
    return new TextDecoder(label.trim()).encoding;
  } catch {
    return null;
  }
}

/** `<meta charset>`, `<meta http-equiv content>` and `<?xml encoding?>`; not what stands in comments. */
function byPrescan(bytes: Uint8Array): string | null {
  if (bytes[0] === 0x3c && bytes[1] === 0 && bytes[2] === 0x3f) return 'utf-16le';
  if (bytes[0] === 0 && bytes[1] === 0x3c && bytes[2] === 0) return 'utf-16be';
  const head = latin1(bytes.subarray(0, PRESCAN_BYTES)).replaceAll(/<!--[\s\S]*?(?:-->|$)/g, '');
  const declared = /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([^"']+)["']/i.exec(head)?.[1];
  const metas = head.match(/<meta[\s/][^>]*>/gi) ?? [];
  for (const label of [declared, ...metas.map(labelIn)]) {
    const charset = charsetOf(label ?? null);
    if (charset === null) continue;
    // It was read as ASCII, so it is not UTF-16, whatever it says. Source: HTML standard, the same section.
    return charset.startsWith('utf-16') ? 'utf-8' : charset;
  }
  return null;
}

function byValidity(bytes: Uint8Array): string {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return 'utf-8';
  } catch {
    return 'windows-1252';
  }
}

function decode(bytes: Uint8Array, charset: string): string {
  if (charset === 'windows-1252') return windows1252(bytes);
  return new TextDecoder(charset).decode(bytes);
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

/** The 32 places in which windows-1252 is not Latin-1. Source: Encoding standard, index windows-1252. */
const UPPER =
  '\u20AC\u0081\u201A\u0192\u201E\u2026\u2020\u2021\u02C6\u2030\u0160\u2039\u0152\u008D\u017D\u008F\u0090\u2018\u2019\u201C\u201D\u2022\u2013\u2014\u02DC\u2122\u0161\u203A\u0153\u009D\u017E\u0178';

/** By hand: some releases of Node.js decode this one as Latin-1. */
function windows1252(bytes: Uint8Array): string {
  return latin1(bytes).replaceAll(/[\u0080-\u009F]/g, (c) => UPPER[c.charCodeAt(0) - 0x80] ?? c);
}
