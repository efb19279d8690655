import * as z from 'zod';

/** A JSON value that is written into the document. */
export type SchemaValue = Readonly<Record<string, unknown>>;

export interface ConvertedSchemas {
  /** Name → schema, in the order of their first use. */
  readonly components: Readonly<Record<string, SchemaValue>>;
  /** In the order of the argument. */
  readonly schemas: readonly SchemaValue[];
}

const COMPONENTS = '#/components/schemas/';

/**
 * Converts schemas to JSON Schema 2020-12. Schemas with an `id` become components and are replaced by references. The result describes
 * the input: a default makes a field optional, and no object is closed, so fields may be added later.
 */
export function convertSchemas(schemas: readonly z.ZodType[]): ConvertedSchemas {
  // All schemas are converted together, so that each component is created once.
  const all = z.object(Object.fromEntries(schemas.map((schema, index) => [String(index), schema])));
  const { $defs = {}, properties = {} } = z.toJSONSchema(all, { target: 'draft-2020-12', io: 'input' });
  const components = Object.entries($defs).map(([name, schema]) => [name, tidy(schema as SchemaValue)]);
  return {
    components: Object.fromEntries(components) as Readonly<Record<string, SchemaValue>>,
    schemas: schemas.map((_schema, index) => tidy(properties[String(index)] as SchemaValue)),
  };
}

/** Removes keywords of zod that nobody needs, and turns alternatives that differ only by type into a list of types. */
function tidy(schema: SchemaValue): SchemaValue {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(schema)) {
    if (!isNoise(name, value)) result[name] = tidyMember(name, value);
  }
  return withJoinedTypes(result);
}

function isNoise(name: string, value: unknown): boolean {
  if (name === 'id' || name === 'propertyNames') return true;
  if (name === 'minimum') return value === Number.MIN_SAFE_INTEGER;
  return name === 'maximum' && value === Number.MAX_SAFE_INTEGER;
}

function tidyMember(name: string, value: unknown): unknown {
  switch (name) {
    case '$ref':
      return String(value).replace('#/$defs/', COMPONENTS);
    case 'properties':
      return Object.fromEntries(
        Object.entries(value as SchemaValue).map(([key, part]) => [key, tidy(part as SchemaValue)]),
      );
    case 'items':
      return tidy(value as SchemaValue);
    case 'additionalProperties':
      // Without this keyword, some client generators treat the object as empty.
      return Object.keys(value as object).length === 0 ? true : tidy(value as SchemaValue);
    case 'allOf':
    case 'anyOf':
    case 'oneOf':
      return (value as readonly SchemaValue[]).map(tidy);
    default:
      return value;
  }
}

/** Turns `anyOf` of a string or null into `type: ['string', 'null']`, and keeps the keywords of the string. */
function withJoinedTypes(schema: SchemaValue): SchemaValue {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf) || rest['type'] !== undefined) return schema;
  const options = anyOf as readonly SchemaValue[];
  const types = options.map((option) => option['type']);
  if (!types.every((type) => typeof type === 'string') || new Set(types).size < types.length) return schema;
  const [detailed = {}, ...others] = options.filter((option) => Object.keys(option).length > 1);
  // Keywords of one type do not apply to values of another type, except `const`, and `enum` (handled below).
  if (others.length > 0 || 'const' in detailed) return schema;
  const values = detailed['enum'];
  if (values === undefined) return { ...detailed, ...rest, type: types };
  if (types.length > 2 || !types.includes('null')) return schema;
  return { ...detailed, ...rest, type: types, enum: [...(values as readonly unknown[]), null] };
}
