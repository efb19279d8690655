import type { JsonObject, JsonSchema, JsonValue } from '../connector.ts';
import { asObject, memberOf } from './record-paths.ts';

/** A member of a record, and the schema that its value holds to and must still hold to when it is cut. */
export interface SchemaMember {
  readonly name: string;
  readonly schema: JsonSchema;
}

export interface FitBounds {
  /** Of what `bytesOf` measures. */
  readonly bytesMax: number;
  /** Texts are not cut below this. */
  readonly textBytesMin: number;
}

/** Lists that are cut one after the other; a record that needs more is made of lists alone. */
const LISTS_MAX = 20;

/**
 * Returns a copy of a record that is too large, cut until it fits: its longest texts, all to the same length, and where that would leave
 * too little of them, the ends of its longest lists first. Texts are cut between characters, so they stay valid UTF-8. A text whose
 * schema has a form (a date, one of several words) is never cut. Null where all that is not enough: the record is made of numbers or of
 * names.
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

/** Bytes of a value as JSON, which is written in UTF-8. */
export function jsonBytes(value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify(value));
}

type Holder = Record<string | number, JsonValue>;

interface Text {
  readonly holder: Holder;
  readonly key: string | number;
  readonly text: string;
  /** As JSON, without its quotation marks. */
  readonly bytes: number;
}

interface Parts {
  readonly texts: Text[];
  readonly lists: JsonValue[][];
}

/** All that may be cut: texts of more than `textBytesMin` and lists, those inside of others too. */
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

/** A control character is written as six bytes. */
const BYTES_PER_UNIT_MAX = 6;
/** Keywords of JSON Schema that a shorter value may not hold to. */
const TEXT_FORMS = ['format', 'pattern', 'enum', 'const', 'minLength'];
const LIST_FORMS = ['minItems', 'contains', 'enum', 'const'];

function isFree(schema: JsonSchema, forms: readonly string[]): boolean {
  return !forms.some((form) => schema[form] !== undefined);
}

function cutTexts(texts: readonly Text[], level: number): void {
  for (const { holder, key, text, bytes } of texts) if (bytes > level) holder[key] = prefixWithin(text, level);
}

/** The greatest length in bytes to which the longest texts must be cut so that `excess` bytes go; 0 where no length does it. */
function levelOf(texts: readonly Text[], excess: number): number {
  const sizes = texts.map(({ bytes }) => bytes).toSorted((a, b) => b - a);
  let sum = 0;
  for (const [i, size] of sizes.entries()) {
    sum += size;
    const level = Math.floor((sum - excess) / (i + 1));
    // Cutting the i + 1 largest is enough when the level is not below the next one.
    if (level >= (sizes[i + 1] ?? 0)) return level;
  }
  return 0;
}

/** The beginning of a text that has at most so many bytes as JSON. */
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

/** Of one UTF-16 unit that is no part of a pair: as UTF-8, or as its escape in JSON. */
function unitBytes(unit: number): number {
  if (unit < 0x20) return [0x08, 0x09, 0x0a, 0x0c, 0x0d].includes(unit) ? 2 : BYTES_PER_UNIT_MAX;
  if (unit === 0x22 || unit === 0x5c) return 2;
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  // Half of a pair stands alone: it is written as an escape.
  return unit >= 0xd800 && unit <= 0xdfff ? BYTES_PER_UNIT_MAX : 3;
}

/** Cuts the longest lists one after the other, until nothing is too much. */
function cutLists(lists: readonly JsonValue[][], excess: () => number): void {
  for (const list of lists.toSorted((a, b) => b.length - a.length).slice(0, LISTS_MAX)) {
    const over = excess();
    if (over <= 0) return;
    cutList(list, over);
  }
}

/** Takes items off the end of a list until so many bytes are gone, or none is left. */
function cutList(list: JsonValue[], excess: number): void {
  let left = excess;
  while (left > 0 && list.length > 0) {
    const item = list.pop();
    // Each has a comma before it.
    left -= jsonBytes(item ?? null) + 1;
  }
}
