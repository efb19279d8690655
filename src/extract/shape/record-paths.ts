import type { JsonObject, JsonSchema, JsonValue } from '../base/connector.ts';

/** What a record schema states about a member: that it does not exist, its schema, or nothing at all. */
export type Member =
  | { readonly kind: 'none' }
  | { readonly kind: 'known'; readonly schema: JsonSchema }
  | { readonly kind: 'open' };

/** Choice: deeper than any record schema. Ends the traversal of schemas that contain each other. */
const DEPTH_MAX = 16;

/** Returns the member `name` of what `schema` describes. Looks into the items of arrays, because paths map over arrays. */
export function memberOf(schema: JsonSchema, name: string, depth = 0): Member {
  if (depth > DEPTH_MAX || schema['$ref'] !== undefined) return { kind: 'open' };
  const found = branchesOf(schema).map((branch) => ownMember(branch, name, depth));
  return found.find(({ kind }) => kind === 'known') ?? found.find(({ kind }) => kind === 'open') ?? { kind: 'none' };
}

/**
 * Returns the members of an object that can have no others, in order. Null for arrays, for open objects and for values that are not
 * objects.
 */
export function closedMembers(schema: JsonSchema): readonly (readonly [name: string, schema: JsonSchema])[] | null {
  const objects = branchesOf(schema).filter((branch) => !isNull(branch));
  const [only] = objects;
  if (only === undefined || objects.length > 1) return null;
  const properties = asObject(only['properties']);
  if (properties === null || mayBe(only, 'array') || isOpen(only)) return null;
  return Object.entries(properties).map(([name, value]) => [name, asObject(value) ?? {}]);
}

function ownMember(schema: JsonSchema, name: string, depth: number): Member {
  const items = asObject(schema['items']);
  if (mayBe(schema, 'array') && items !== null) {
    const inside = memberOf(items, name, depth + 1);
    if (inside.kind !== 'none') return inside;
  }
  const properties = asObject(schema['properties']);
  if (properties !== null && Object.hasOwn(properties, name)) {
    const known = asObject(properties[name]);
    return known === null ? { kind: 'open' } : { kind: 'known', schema: known };
  }
  if (mayBe(schema, 'array') && items === null && schema['type'] !== undefined) return { kind: 'open' };
  return mayBe(schema, 'object') && isOpen(schema) ? openMember(schema) : { kind: 'none' };
}

function openMember(schema: JsonSchema): Member {
  const additional = asObject(schema['additionalProperties']);
  return additional === null ? { kind: 'open' } : { kind: 'known', schema: additional };
}

/** Returns the schema itself, or its alternatives. */
function branchesOf(schema: JsonSchema): readonly JsonSchema[] {
  const either = schema['anyOf'] ?? schema['oneOf'];
  if (!Array.isArray(either)) return [schema];
  return (either as readonly JsonValue[]).map(asObject).filter((branch) => branch !== null);
}

/**
 * Choice: an object schema with `properties` allows no other members unless it states so, because connectors' schemas describe everything
 * that a record has.
 */
function isOpen(schema: JsonSchema): boolean {
  const additional = schema['additionalProperties'];
  return additional === undefined ? schema['properties'] === undefined : additional !== false;
}

function mayBe(schema: JsonSchema, type: 'object' | 'array'): boolean {
  const named = schema['type'];
  if (named === undefined) return true;
  return Array.isArray(named) ? (named as readonly JsonValue[]).includes(type) : named === type;
}

/** Returns whether one of its alternatives is an array. */
export function isArraySchema(schema: JsonSchema): boolean {
  return branchesOf(schema).some((branch) => branch['type'] !== undefined && mayBe(branch, 'array'));
}

function isNull(schema: JsonSchema): boolean {
  return schema['type'] === 'null';
}

export function asObject(value: JsonValue | undefined): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}
