import type { Element } from 'domhandler';
import type { JsonValue } from '../base/connector.ts';
import { attribute, elementsNamed, scriptText, type HtmlPage } from './html.ts';

/** Data that the scripts of a page start with, as the page's server wrote it. */
export interface StateBlock {
  readonly format: 'next' | 'nuxt' | 'apollo' | 'rsc' | 'initial' | 'json';
  /** Where it stands: `#id` of its script, the name of its variable, or `script[3]`. */
  readonly path: string;
  /** An object or an array. */
  readonly data: JsonValue;
}

/** Choice: maximum number of blocks of one page, of characters of each, and of levels. */
const BLOCKS_MAX = 1_000;
const BLOCK_CHARACTERS_MAX = 1_000_000;
const LEVELS_MAX = 200;
/** Choice: the same for all blocks of a page together. */
const PAGE_CHARACTERS_MAX = 5_000_000;

const VARIABLES: readonly (readonly [StateBlock['format'], RegExp])[] = [
  ['nuxt', /(?:window|self|globalThis)\.(__NUXT__)\s*=\s*/g],
  ['apollo', /(?:window|self|globalThis)\.(__APOLLO_STATE__)\s*=\s*/g],
  ['initial', /(?:window|self|globalThis)\.(__(?:INITIAL|PRELOADED)_(?:STATE|DATA|PROPS)__|__STATE__)\s*=\s*/g],
];
const PUSHED = /self\.__next_f\.push\(\s*(?=\[)/g;

/**
 * Returns the data blocks of a page: scripts with JSON, and JSON that scripts assign to the variables of known frameworks. Nothing is
 * evaluated; what is not JSON is not read. `isCut`: some blocks exceed the limits.
 */
export function readPageState(page: HtmlPage): { readonly blocks: readonly StateBlock[]; readonly isCut: boolean } {
  const reader = new StateReader();
  const pushed: string[] = [];
  for (const [at, script] of elementsNamed(page, 'script').entries()) {
    const text = scriptText(page, script);
    const type = attribute(script, 'type')?.toLowerCase() ?? '';
    if (/^application\/json\b/.test(type)) reader.add(...ofElement(script, at), text, 0);
    else if (type === '' || /javascript|module/.test(type)) readVariables(reader, text, pushed);
  }
  readRows(reader, pushed.join(''));
  return { blocks: reader.blocks, isCut: reader.isCut };
}

function ofElement(script: Element, at: number): [StateBlock['format'], string] {
  const id = attribute(script, 'id');
  const format = id === '__NEXT_DATA__' ? 'next' : id === '__NUXT_DATA__' ? 'nuxt' : 'json';
  return [format, id === null ? `script[${at}]` : `#${id}`];
}

function readVariables(reader: StateReader, text: string, pushed: string[]): void {
  for (const [format, pattern] of VARIABLES) {
    for (const match of text.matchAll(pattern)) {
      if (reader.isFull) return;
      const from = match.index + match[0].length;
      const literal = /^JSON\.parse\(\s*("(?:[^"\\]|\\.)*")/.exec(text.slice(from, from + BLOCK_CHARACTERS_MAX))?.[1];
      const inner = literal === undefined ? undefined : parseJson(literal);
      if (typeof inner === 'string') reader.add(format, match[1] ?? '', inner, 0);
      else reader.add(format, match[1] ?? '', text, from);
    }
  }
  for (const match of text.matchAll(PUSHED)) {
    const part = reader.parsed(text, match.index + match[0].length);
    if (Array.isArray(part) && typeof part[1] === 'string') pushed.push(part[1]);
  }
}

/** Reads the rows of React's server components: one `id:JSON` a line. Rows of another form are references and modules. */
function readRows(reader: StateReader, text: string): void {
  for (const line of text.split('\n')) {
    const id = /^([0-9a-f]{1,8}):(?=[[{])/.exec(line);
    if (id !== null) reader.add('rsc', `__next_f.${id[1] ?? ''}`, line, id[0].length);
  }
}

/** Parses blocks as long as the page's limits allow. */
class StateReader {
  readonly blocks: StateBlock[] = [];
  isCut = false;
  #charactersLeft = PAGE_CHARACTERS_MAX;

  get isFull(): boolean {
    return this.blocks.length >= BLOCKS_MAX || this.#charactersLeft <= 0;
  }

  add(format: StateBlock['format'], path: string, text: string, from: number): void {
    if (this.blocks.length >= BLOCKS_MAX) {
      this.isCut = true;
      return;
    }
    const data = this.parsed(text, from);
    if (typeof data === 'object' && data !== null) this.blocks.push({ format, path, data });
  }

  /** Returns the object or array that begins here, after white space; undefined if there is none within the limits. */
  parsed(text: string, from: number): JsonValue | undefined {
    const start = from + (/^\s{0,1000}/.exec(text.slice(from, from + 1_000))?.[0].length ?? 0);
    const end = endOfJson(text, start, Math.min(BLOCK_CHARACTERS_MAX, this.#charactersLeft));
    if (end === null) return undefined;
    this.#charactersLeft -= Math.abs(end) - start;
    if (end >= 0) return parseJson(text.slice(start, end));
    this.isCut = true;
    return undefined;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Returns the offset behind the value; a negative one if it ends beyond the limits; null if none begins here. Takes one pass. */
function endOfJson(text: string, start: number, charactersMax: number): number | null {
  let level = 0;
  let isInText = false;
  const last = Math.min(text.length, start + charactersMax);
  for (let at = start; at < last; at++) {
    const code = text.charCodeAt(at);
    if (isInText) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) isInText = false;
    } else if (code === QUOTE) isInText = true;
    else if (code === 0x7b || code === 0x5b) level++;
    else if (code === 0x7d || code === 0x5d) level--;
    if (level <= 0 && !isInText) return at === start ? null : at + 1;
    if (level > LEVELS_MAX) return -at;
  }
  return last < text.length || charactersMax <= 0 ? -last : null;
}

/** Names that could change an object's prototype are left out. */
function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text, (name, value: JsonValue) => (name === '__proto__' ? undefined : value)) as JsonValue;
  } catch {
    return undefined;
  }
}
