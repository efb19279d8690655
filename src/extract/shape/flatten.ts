import type { JsonObject, JsonSchema, JsonValue } from '../base/connector.ts';
import { asObject, closedMembers, isArraySchema, memberOf } from './record-paths.ts';
import { own, type Selection } from './selection.ts';

/** One leaf of a shaped record: a CSV column, or a dotted member of a flat record. */
export interface Leaf {
  /** For example `author.name`. */
  readonly name: string;
  readonly path: readonly string[];
  /** What the record schema states about it; empty for a member of an open object. */
  readonly schema: JsonSchema;
}

/** Choice: deeper than any record. What lies below stays an object. */
const DEPTH_MAX = 16;

/**
 * Returns the leaves of a member according to its schema. Descends into objects with known members; arrays and open objects are leaves. The
 * result is therefore the same for every record.
 */
export function leavesOf(path: readonly string[], selection: Selection, schema: JsonSchema): readonly Leaf[] {
  if (isArraySchema(schema)) return [leaf(path, schema)];
  const members = chosenMembers(selection, schema);
  if (members === null || path.length > DEPTH_MAX) return [leaf(path, schema)];
  return members.flatMap(([name, inner, innerSchema]) => leavesOf([...path, name], inner, innerSchema));
}

function chosenMembers(
  selection: Selection,
  schema: JsonSchema,
): readonly (readonly [name: string, selection: Selection, schema: JsonSchema])[] | null {
  if (selection === 'whole') {
    return closedMembers(schema)?.map(([name, inner]) => [name, 'whole', inner] as const) ?? null;
  }
  return [...selection].map(([name, inner]) => {
    const member = memberOf(schema, name);
    return [name, inner, member.kind === 'known' ? member.schema : {}] as const;
  });
}

function leaf(path: readonly string[], schema: JsonSchema): Leaf {
  return { name: path.join('.'), path, schema };
}

/**
 * Returns a record without nested objects: `{"a":{"b":1}}` becomes `{"a.b":1}`. The leaves come first and are never absent. The members of
 * an open object replace its leaf; an empty one yields null. Arrays stay. If names with dots in an open object produce a name that already
 * exists, the first one is kept.
 */
export function flattened(record: JsonObject, leaves: readonly Leaf[]): JsonObject {
  const flat = new Map<string, JsonValue>();
  for (const { name, path } of leaves) spread(flat, name, valueAt(record, path), 0);
  return Object.fromEntries(flat);
}

function spread(flat: Map<string, JsonValue>, name: string, value: JsonValue, depth: number): void {
  const object = depth < DEPTH_MAX ? asObject(value) : null;
  const entries = object === null ? [] : Object.entries(object);
  if (entries.length === 0) {
    if (!flat.has(name)) flat.set(name, object === null ? value : null);
    return;
  }
  for (const [key, inner] of entries) spread(flat, `${name}.${key}`, inner, depth + 1);
}

/** Returns null if there is no value. Arrays contain no leaves, so the path never leads through one. */
export function valueAt(record: JsonObject, path: readonly string[]): JsonValue {
  let value: JsonValue = record;
  for (const name of path) {
    const object = asObject(value);
    if (object === null) return null;
    value = own(object, name) ?? null;
  }
  return value;
}
