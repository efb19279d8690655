import { parseUrl } from '../../../kernel/parse-url.ts';
import { SourceFailure, type JsonObject, type JsonValue } from '../../base/connector.ts';

/** Readers for JSON from other parties. Each accepts any value and returns null, or an empty result, if it is not what was expected. */
type Unknown = JsonValue | undefined;

export function objectOf(value: Unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

/** Returns the value at a path of names. Only own members count, so `constructor` does not exist. */
export function at(value: Unknown, ...path: readonly string[]): Unknown {
  let here: Unknown = value;
  for (const name of path) {
    const object = objectOf(here);
    here = object !== null && Object.hasOwn(object, name) ? object[name] : undefined;
  }
  return here;
}

/** Returns a text that is not blank. */
export function textMember(value: Unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

/** Returns a source's id, a string or a number, as text. */
export function idOf(value: Unknown): string | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null;
  return textMember(value);
}

/** Returns an integer, even if the source sends it as text. */
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

/** Returns the items of a list; empty if the value is not a list. */
export function itemsOf(value: Unknown): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

/** Returns the texts that `read` finds in the items of a list; null if the value is not a list. */
export function textsOf(
  value: Unknown,
  read: (item: JsonValue) => string | null = textMember,
): readonly string[] | null {
  return Array.isArray(value) ? itemsOf(value).flatMap((item) => read(item) ?? []) : null;
}

/** Returns an absolute http or https URL, resolved against `base`; null for anything else. */
export function urlOf(value: Unknown, base?: string): string | null {
  const text = textMember(value);
  const url = text === null ? null : parseUrl(text, base);
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : null;
}

/** Returns a list that a response must contain. Throws `parse_failed`. */
export function listIn(value: Unknown, what: string): readonly JsonValue[] {
  if (!Array.isArray(value)) throw unreadable(`${what} is not a list`);
  return value as readonly JsonValue[];
}

/** Returns an object that a response must contain. Throws `parse_failed`. */
export function objectIn(value: Unknown, what: string): JsonObject {
  const object = objectOf(value);
  if (object === null) throw unreadable(`${what} is not an object`);
  return object;
}

/**
 * Returns the items that can be read. A single unreadable item is omitted. If there are items and all are unreadable, the interface is not
 * the known one, and an empty result would hide that: throws `parse_failed`.
 */
export function readEach<T>(items: readonly JsonValue[], read: (item: JsonObject) => T | null): readonly T[] {
  const found = items.flatMap((item) => {
    const object = objectOf(item);
    return object === null ? [] : (read(object) ?? []);
  });
  if (found.length === 0 && items.length > 0) throw unreadable(`none of ${items.length} items could be read`);
  return found;
}

/** A response that does not have the published format. */
export function unreadable(detail: string): SourceFailure {
  return new SourceFailure('parse_failed', detail, false);
}

/** Returns a text or a number of a validated input as text; '' if it was omitted. */
export function givenText(input: JsonObject, name: string): string {
  return idOf(input[name]) ?? '';
}
