import type { JsonValue } from '../base/connector.ts';

/**
 * Parses the JSON in pages, which is often invalid: wrapped in comments or CDATA, with trailing commas, with raw line breaks in strings, or
 * with quotes written as entities. It is only parsed, never executed.
 */

/** Choice: maximum number of characters of one block. Product pages with hundreds of variants have some 500,000. */
const BLOCK_CHARACTERS_MAX = 1_048_576;
/** Choice: `JSON.stringify` overflows the stack some thousands of levels deep. No vocabulary needs thirty. */
const DEPTH_MAX = 32;

/** Returns undefined if the text cannot be parsed. */
export function parseLooseJson(text: string): JsonValue | undefined {
  if (text.length > BLOCK_CHARACTERS_MAX) return undefined;
  const bare = text.replace(/^\uFEFF/, '').trim();
  return tryParse(bare) ?? tryParse(repaired(bare)) ?? tryParse(repaired(withoutEntities(bare)));
}

function tryParse(text: string): JsonValue | undefined {
  if (text === '' || isDeep(text)) return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Returns whether brackets outside of strings nest deeper than the limit. */
function isDeep(text: string): boolean {
  let depth = 0;
  let inText = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (inText) {
      if (c === '\\') i++;
      else if (c === '"') inText = false;
    } else if (c === '"') inText = true;
    else if (c === '{' || c === '[') {
      depth++;
      if (depth > DEPTH_MAX) return true;
    } else if (c === '}' || c === ']') depth--;
  }
  return false;
}

/** Delimiters of wrappers around the JSON. None of them is valid in JSON outside of a string. */
const MARKS = ['<![CDATA[', ']]>', '<!--', '-->', ';'];

/** Repairs the text in one pass: repairs strings, and removes comments, delimiters and commas before a closing bracket. */
function repaired(text: string): string {
  let out = '';
  let comma = '';
  let at = 0;
  while (at < text.length) {
    const c = text[at] ?? '';
    const end = endOfNoise(text, at);
    if (end > at) {
      at = end;
      continue;
    }
    const pieceEnd = c === '"' ? endOfText(text, at) : at + 1;
    if (c.trim() !== '') {
      if (c !== '}' && c !== ']') out += comma;
      comma = c === ',' ? ',' : '';
    }
    if (c === '"') out += repairedText(text.slice(at, pieceEnd));
    else if (c !== ',') out += c;
    at = pieceEnd;
  }
  return out;
}

/** Returns the offset after the comment or delimiter that begins here; `at` if there is none. */
function endOfNoise(text: string, at: number): number {
  if (text.startsWith('/*', at)) return behind(text, '*/', at + 2);
  if (text.startsWith('//', at)) return behind(text, '\n', at + 2);
  const mark = MARKS.find((one) => text.startsWith(one, at));
  return at + (mark?.length ?? 0);
}

function behind(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  return found === -1 ? text.length : found + mark.length;
}

/** Returns the offset after the closing quote, or the end of the text. */
function endOfText(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '"') return i + 1;
  }
  return text.length;
}

/** Escapes that JSON has, and after them those that only scripts have. */
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}|x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]{1,6})\}|([\s\S]))/g;
/** A script's escapes of one character; any other one stands for itself. A line break continues the text. */
const IN_SCRIPTS: Readonly<Record<string, string>> = { '0': '\0', v: '\v', '\n': '' };

/** Escapes line breaks and other control characters. Replaces an escape that JSON does not have by its character. */
function repairedText(text: string): string {
  return (
    text
      .replaceAll(ESCAPE, (whole, byte?: string, point?: string, other?: string) => {
        const code = byte ?? point;
        if (code !== undefined) return escaped(Number.parseInt(code, 16));
        return other === undefined ? whole : (IN_SCRIPTS[other] ?? other);
      })
      // oxlint-disable-next-line no-control-regex
      .replaceAll(/[\u0000-\u001f]/g, (control) => JSON.stringify(control).slice(1, -1))
  );
}

/** Returns the character as JSON writes it inside a text; the replacement character if there is none with that number. */
function escaped(code: number): string {
  return JSON.stringify(String.fromCodePoint(code > 0x10ffff ? 0xfffd : code)).slice(1, -1);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&quot;': '"',
  '&#34;': '"',
  '&#034;': '"',
  '&#x22;': '"',
  '&apos;': "'",
  '&#39;': "'",
  '&#039;': "'",
  '&lt;': '<',
  '&gt;': '>',
  '&nbsp;': ' ',
  '&amp;': '&',
};

function withoutEntities(text: string): string {
  return text.replaceAll(/&(?:quot|apos|lt|gt|nbsp|amp|#0?3[49]|#x22);/g, (entity) => ENTITIES[entity] ?? entity);
}
