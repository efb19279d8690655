import type { JsonValue } from '../connector.ts';

/**
 * Reads the JSON of pages, which is often not quite JSON: wrapped in comments or CDATA, with trailing commas, raw line breaks in its
 * texts, or with its quotes written as entities. It is read, never run.
 */

/** Choice: characters of one block; product pages with hundreds of variants have some 500,000. */
const BLOCK_CHARACTERS_MAX = 1_048_576;
/** Choice: `JSON.stringify` overflows the stack some thousands of levels deep; no vocabulary needs thirty. */
const DEPTH_MAX = 32;

/** Undefined where it can't be read. */
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

/** Whether brackets outside of texts nest deeper than the bound. */
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

/** Marks of wrappers that stand around the JSON; none of them can stand in it outside of a text. */
const MARKS = ['<![CDATA[', ']]>', '<!--', '-->', ';'];

/** One pass: texts are repaired, comments and marks left out, as is a comma before a closing bracket. */
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

/** Behind the comment or mark that begins here; `at` where none does. */
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

/** Behind the closing quote, or the end. */
function endOfText(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '"') return i + 1;
  }
  return text.length;
}

/** Line breaks and other control characters become escapes; an escape that JSON does not know becomes the character itself. */
function repairedText(text: string): string {
  return (
    text
      .replaceAll(/\\(?:["\\/bfnrt]|u[0-9a-f]{4}|([\s\S]))/gi, (whole, other: string | undefined) => other ?? whole)
      // oxlint-disable-next-line no-control-regex
      .replaceAll(/[\u0000-\u001f]/g, (control) => JSON.stringify(control).slice(1, -1))
  );
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
