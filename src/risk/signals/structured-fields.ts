/**
 * Structured field values of HTTP, as far as message signatures use them: dictionaries, inner lists, strings, integers, tokens, byte
 * sequences and booleans. Strict: null for anything malformed. Source: RFC 9651.
 */

export interface Token {
  readonly token: string;
}
/** A text is a String, a boolean a Boolean, a number an Integer, bytes a Byte Sequence. */
export type BareItem = string | number | boolean | Token | Buffer;
export type Parameters = ReadonlyMap<string, BareItem>;

export interface FieldItem {
  readonly kind: 'item';
  readonly value: BareItem;
  readonly parameters: Parameters;
}

export interface InnerList {
  readonly kind: 'list';
  readonly items: readonly FieldItem[];
  readonly parameters: Parameters;
}

export interface DictionaryMember {
  readonly value: FieldItem | InnerList;
  /** As it was sent. */
  readonly text: string;
}

/** Returns the members by key; null also if a key comes twice: then nobody can say which one its sender meant. */
export function parseDictionary(text: string): ReadonlyMap<string, DictionaryMember> | null {
  const scanner = new Scanner(text);
  const members = new Map<string, DictionaryMember>();
  do {
    scanner.match(SPACES);
    const key = scanner.match(KEY);
    if (key === null || members.has(key)) return null;
    const start = scanner.match(EQUALS) === null ? -1 : scanner.at;
    const value = start < 0 ? flagOf(scanner) : (innerListOf(scanner) ?? itemOf(scanner));
    if (value === null) return null;
    members.set(key, { value, text: start < 0 ? '' : scanner.since(start) });
    scanner.match(BLANKS);
  } while (scanner.match(COMMA) !== null);
  scanner.match(SPACES);
  return scanner.isAtEnd() ? members : null;
}

/** Returns the only item of a field. */
export function parseItem(text: string): FieldItem | null {
  const scanner = new Scanner(text.trim());
  const item = itemOf(scanner);
  return scanner.isAtEnd() ? item : null;
}

const SPACES = / */y;
const BLANKS = /[ \t]*/y;
const COMMA = /,[ \t]*/y;
const EQUALS = /=/y;
const KEY = /[a-z*][a-z0-9_.*-]*/y;
const STRING = /"(?:[ !#-[\]-~]|\\["\\])*"/y;
const INTEGER = /-?\d{1,15}(?![\d.])/y;
const TOKEN = /[A-Za-z*][\w!#$%&'*+.^`|~:/-]*/y;
const BYTES = /:(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?:/y;
const BOOLEAN = /\?[01]/y;
const OPEN = /\( */y;
const CLOSE = /\)/y;
const GAP = / +|(?=\))/y;
const SEMICOLON = /; */y;

class Scanner {
  readonly #text: string;
  at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns what the sticky pattern matches here, and moves behind it. */
  match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) return null;
    this.at += found.length;
    return found;
  }

  since(start: number): string {
    return this.#text.slice(start, this.at);
  }

  isAtEnd(): boolean {
    return this.at === this.#text.length;
  }
}

function flagOf(scanner: Scanner): FieldItem | null {
  const parameters = parametersOf(scanner);
  return parameters && { kind: 'item', value: true, parameters };
}

function innerListOf(scanner: Scanner): InnerList | null {
  if (scanner.match(OPEN) === null) return null;
  const items: FieldItem[] = [];
  while (scanner.match(CLOSE) === null) {
    const item = itemOf(scanner);
    if (item === null || scanner.match(GAP) === null) return null;
    items.push(item);
  }
  const parameters = parametersOf(scanner);
  return parameters && { kind: 'list', items, parameters };
}

function itemOf(scanner: Scanner): FieldItem | null {
  const value = bareItemOf(scanner);
  const parameters = value === null ? null : parametersOf(scanner);
  return value === null || parameters === null ? null : { kind: 'item', value, parameters };
}

function parametersOf(scanner: Scanner): Parameters | null {
  const parameters = new Map<string, BareItem>();
  while (scanner.match(SEMICOLON) !== null) {
    const key = scanner.match(KEY);
    const value = scanner.match(EQUALS) === null ? true : bareItemOf(scanner);
    if (key === null || value === null || parameters.has(key)) return null;
    parameters.set(key, value);
  }
  return parameters;
}

function bareItemOf(scanner: Scanner): BareItem | null {
  const text = scanner.match(STRING);
  if (text !== null) return text.slice(1, -1).replaceAll(/\\(["\\])/g, '$1');
  const integer = scanner.match(INTEGER);
  if (integer !== null) return Number(integer);
  const bytes = scanner.match(BYTES);
  if (bytes !== null) return Buffer.from(bytes.slice(1, -1), 'base64');
  const boolean = scanner.match(BOOLEAN);
  if (boolean !== null) return boolean === '?1';
  const token = scanner.match(TOKEN);
  return token === null ? null : { token };
}
