import type { JsonObject, JsonSchema, JsonValue } from '../base/connector.ts';
import { asObject, memberOf } from './record-paths.ts';

/** A member of a record, and the schema that its value must satisfy before and after truncation. */
export interface SchemaMember {
  readonly name: string;
  readonly schema: JsonSchema;
}

export interface FitBounds {
  /** Maximum of what `bytesOf` returns. */
  readonly bytesMax: number;
  /** Minimum size to which texts are cut. */
  readonly textBytesMin: number;
}

/** Choice: maximum number of lists that are cut in one record. */
const LISTS_MAX = 20;

/**
 * Returns a truncated copy of a record that is too large. Cuts the longest texts to one common length. If that length would be below
 * `textBytesMin`, cuts the ends of the longest lists first. Cuts between code points, so texts stay valid UTF-8. Never cuts a text
 * whose schema restricts its form (dates, enumerations). Returns null if the record still does not fit, for example because it consists
 * of numbers.
 */
export function fitRecord(
  record: JsonObject,
  members: readonly SchemaMember[],
  { bytesMax, textBytesMin }: FitBounds,
  bytesOf: (record: JsonObject) => number,
): JsonObject | null {
  const copy = structuredClone(record);
  const excess = (): number => bytesOf(copy) - bytesMax;
  const parts = partsOf(copy, members, textBytesMin);
  const level = levelOf(parts.texts, excess());
  if (level < textBytesMin) cutLists(parts.lists, excess);
  cutTexts(parts.texts, Math.max(textBytesMin, levelOf(parts.texts, excess())));
  return excess() <= 0 ? copy : null;
}

/** Returns the size of a value as JSON in UTF-8. */
export function jsonBytes(value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify(value));
}

type Holder = Record<string | number, JsonValue>;

interface Text {
  readonly holder: Holder;
  readonly key: string | number;
  readonly text: string;
  /** Size as JSON without the quotation marks. */
  readonly bytes: number;
}

interface Parts {
  readonly texts: Text[];
  readonly lists: JsonValue[][];
}

/** Collects what may be cut, at any depth: texts larger than `textBytesMin`, and lists. */
function partsOf(record: JsonObject, members: readonly SchemaMember[], textBytesMin: number): Parts {
  const parts: Parts = { texts: [], lists: [] };
  const look = (holder: Holder, key: string | number, schema: JsonSchema): void => {
    const value = holder[key];
    if (typeof value === 'string') {
      const bytes = value.length * BYTES_PER_UNIT_MAX <= textBytesMin ? 0 : jsonBytes(value) - 2;
      if (bytes > textBytesMin && isFree(schema, TEXT_FORMS)) parts.texts.push({ holder, key, text: value, bytes });
    } else if (Array.isArray(value)) {
      if (isFree(schema, LIST_FORMS)) parts.lists.push(value as JsonValue[]);
      const items = asObject(schema['items']) ?? {};
      for (let at = 0; at < value.length; at++) look(value as unknown as Holder, at, items);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value)) {
        if (typeof inner !== 'string' && typeof inner !== 'object') continue;
        const member = memberOf(schema, name);
        look(value as Holder, name, member.kind === 'known' ? member.schema : {});
      }
    }
  };
  for (const { name, schema } of members) look(record, name, schema);
  return parts;
}

/** JSON escapes a control character as six bytes. */
const BYTES_PER_UNIT_MAX = 6;
/** JSON Schema keywords that a shortened value might violate. */
const TEXT_FORMS = ['format', 'pattern', 'enum', 'const', 'minLength'];
const LIST_FORMS = ['minItems', 'contains', 'enum', 'const'];

function isFree(schema: JsonSchema, forms: readonly string[]): boolean {
  return !forms.some((form) => schema[form] !== undefined);
}

function cutTexts(texts: readonly Text[], level: number): void {
  for (const { holder, key, text, bytes } of texts) if (bytes > level) holder[key] = prefixWithin(text, level);
}

/** Returns the largest common size to which the longest texts must be cut to remove `excess` bytes; 0 if none suffices. */
function levelOf(texts: readonly Text[], excess: number): number {
  const sizes = texts.map(({ bytes }) => bytes).toSorted((a, b) => b - a);
  let sum = 0;
  for (const [i, size] of sizes.entries()) {
    sum += size;
    const level = Math.floor((sum - excess) / (i + 1));
    // Cutting the i + 1 largest texts suffices if the level is not below the next one.
    if (level >= (sizes[i + 1] ?? 0)) return level;
  }
  return 0;
}

/** Returns the longest prefix that has at most `bytesMax` bytes as JSON. */
function prefixWithin(text: string, bytesMax: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += character.length === 1 ? unitBytes(character.charCodeAt(0)) : 4;
    if (bytes > bytesMax) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** Returns the size in JSON of a UTF-16 unit outside of a surrogate pair. */
function unitBytes(unit: number): number {
  if (unit < 0x20) return [0x08, 0x09, 0x0a, 0x0c, 0x0d].includes(unit) ? 2 : BYTES_PER_UNIT_MAX;
  if (unit === 0x22 || unit === 0x5c) return 2;
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  // JSON escapes a lone surrogate.
  return unit >= 0xd800 && unit <= 0xdfff ? BYTES_PER_UNIT_MAX : 3;
}

/** Cuts the lists with the most items, one after the other, until the record fits. */
function cutLists(lists: readonly JsonValue[][], excess: () => number): void {
  for (const list of lists.toSorted((a, b) => b.length - a.length).slice(0, LISTS_MAX)) {
    const over = excess();
    if (over <= 0) return;
    cutList(list, over);
  }
}

/** Removes items from the end of a list until `excess` bytes are gone or the list is empty. */
function cutList(list: JsonValue[], excess: number): void {
  let left = excess;
  while (left > 0 && list.length > 0) {
    const item = list.pop();
    // Plus the comma before the item.
    left -= jsonBytes(item ?? null) + 1;
  }
}
