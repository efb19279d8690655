import { SourceFailure, type JsonObject, type JsonValue } from '../../connector.ts';

/** JSON that somebody else wrote: each of these takes anything and answers null, or nothing, where it is not what was looked for. */
type Unknown = JsonValue | undefined;

export function objectOf(value: Unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

/** What stands at a path of names; only own members count, so `constructor` is none. */
export function at(value: Unknown, ...path: readonly string[]): Unknown {
  let here: Unknown = value;
  for (const name of path) {
    const object = objectOf(here);
    here = object !== null && Object.hasOwn(object, name) ? object[name] : undefined;
  }
  return here;
}

/** Text with something in it. */
export function textOf(value: Unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

/** A name or a number by which a source tells things apart, as text. */
export function idOf(value: Unknown): string | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null;
  return textOf(value);
}

/** A whole number; also one that the source writes as text. */
export function integerOf(value: Unknown): number | null {
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? (number as number) : null;
}

export function numberOf(value: Unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

export function flagOf(value: Unknown): boolean | null {
  return typeof value === 'boolean' ? value : null;
}

/** The items of a list, none where it is no list. */
export function itemsOf(value: Unknown): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

/** The texts among the items of a list, read by `read`; null where it is no list. */
export function textsOf(value: Unknown, read: (item: JsonValue) => string | null = textOf): readonly string[] | null {
  return Array.isArray(value) ? itemsOf(value).flatMap((item) => read(item) ?? []) : null;
}

/** An absolute http or https URL, resolved against `base`; null for anything else. */
export function urlOf(value: Unknown, base?: string): string | null {
  const text = textOf(value);
  if (text === null || !URL.canParse(text, base)) return null;
  const url = new URL(text, base);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : null;
}

/** A list that an answer must have. Throws `parse_failed`. */
export function listIn(value: Unknown, what: string): readonly JsonValue[] {
  if (!Array.isArray(value)) throw unreadable(`${what} is not a list`);
  return value as readonly JsonValue[];
}

/** An object that an answer must have. Throws `parse_failed`. */
export function objectIn(value: Unknown, what: string): JsonObject {
  const object = objectOf(value);
  if (object === null) throw unreadable(`${what} is not an object`);
  return object;
}

/**
 * Each item that can be read. One that cannot is left out; but where there are items and none of them can be, the interface is not
 * the one that is known here, and an empty result would hide that: `parse_failed`.
 */
export function readEach<T>(items: readonly JsonValue[], read: (item: JsonObject) => T | null): readonly T[] {
  const found = items.flatMap((item) => {
    const object = objectOf(item);
    return object === null ? [] : (read(object) ?? []);
  });
  if (found.length === 0 && items.length > 0) throw unreadable(`none of ${items.length} items could be read`);
  return found;
}

/** An answer that is not of the published form. */
export function unreadable(detail: string): SourceFailure {
  return new SourceFailure('parse_failed', detail, false);
}

/** A text or a number of an input, which holds to its schema, as text; '' where it was left out. */
export function givenText(input: JsonObject, name: string): string {
  return idOf(input[name]) ?? '';
}
