import type { JsonObject, JsonSchema, JsonValue } from '../base/connector.ts';
import { asObject, closedMembers, memberOf } from './record-paths.ts';

/** What is taken of a value: the whole value, or the named members. The order of the members is that of the output. */
export type Selection = 'whole' | Map<string, Selection>;

/** Selects all members of the record schema, in its order. */
export function selectAll(record: JsonSchema): Map<string, Selection> {
  const names = Object.keys(asObject(record['properties']) ?? {});
  return new Map(names.map((name) => [name, 'whole']));
}

/** Adds a path. A path to a whole object includes the paths into it. */
export function select(selection: Map<string, Selection>, path: readonly string[]): void {
  let at = selection;
  for (const [index, name] of path.entries()) {
    const known = at.get(name);
    if (known === 'whole') return;
    if (index === path.length - 1) at.set(name, 'whole');
    else {
      const next = known ?? new Map<string, Selection>();
      at.set(name, next);
      at = next;
    }
  }
}

/** Returns whether the record schema allows a value at the path. */
export function canHave(record: JsonSchema, path: readonly string[]): boolean {
  let schema = record;
  for (const name of path) {
    const member = memberOf(schema, name);
    if (member.kind !== 'known') return member.kind === 'open';
    schema = member.schema;
  }
  return true;
}

/**
 * Removes a path from a selection and returns what was selected there. Returns null if the path is not selected, or lies in an object whose
 * members the schema does not define. Also removes objects that are left without members.
 */
export function takeOut(
  selection: Map<string, Selection>,
  path: readonly string[],
  schema: JsonSchema,
): Selection | null {
  const [name, ...rest] = path;
  if (name === undefined) return null;
  const selected = selection.get(name);
  if (selected === undefined) return null;
  if (rest.length === 0) {
    selection.delete(name);
    return selected;
  }
  const member = memberOf(schema, name);
  const inner = member.kind === 'known' ? member.schema : {};
  const members = selected === 'whole' ? membersOf(inner) : selected;
  if (members === null) return null;
  selection.set(name, members);
  const taken = takeOut(members, rest, inner);
  if (members.size === 0) selection.delete(name);
  return taken;
}

function membersOf(schema: JsonSchema): Map<string, Selection> | null {
  const members = closedMembers(schema) ?? closedMembers(asObject(schema['items']) ?? {});
  return members === null ? null : new Map(members.map(([name]) => [name, 'whole']));
}

/** Returns the selected part of a value. Maps over arrays; null where an object is expected but missing. */
export function project(value: JsonValue | undefined, selection: Selection): JsonValue {
  if (value === undefined) return null;
  if (selection === 'whole' || value === null) return value;
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((item) => project(item, selection));
  const object = asObject(value);
  if (object === null) return null;
  return Object.fromEntries([...selection].map(([name, inner]) => [name, project(own(object, name), inner)]));
}

/** Returns the value at a path. An array yields the values of its items, in one list. */
export function pick(value: JsonValue | undefined, path: readonly string[]): JsonValue {
  if (value === undefined) return null;
  const [name, ...rest] = path;
  if (name === undefined || value === null) return value;
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((item) => pick(item, path));
  const object = asObject(value);
  return object === null ? null : pick(own(object, name), rest);
}

export function own(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
