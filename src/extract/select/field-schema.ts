import type { JsonObject, JsonSchema } from '../base/connector.ts';
import type { FieldPlan, FieldType } from './field-plan.ts';

/** Returns the schema of the records that these fields make: the fields in their order, each required. */
export function schemaOfFields(fields: readonly FieldPlan[]): JsonSchema {
  const properties = Object.fromEntries(fields.map((field) => [field.name, schemaOfField(field)]));
  return { type: 'object', properties, required: Object.keys(properties) };
}

function schemaOfField({ type, isList, fields }: FieldPlan): JsonSchema {
  if (fields !== null) {
    const inner = schemaOfFields(fields);
    return isList ? { type: 'array', items: inner } : { ...inner, type: ['object', 'null'] };
  }
  const value = SCHEMAS[type];
  return isList ? { type: 'array', items: value } : { ...value, type: nullable(type, value) };
}

function nullable(type: FieldType, { type: own }: JsonObject): JsonSchema[string] {
  // Whether an element exists is always known.
  return type === 'exists' || typeof own !== 'string' ? (own ?? 'null') : [own, 'null'];
}

const TEXT: JsonSchema = { type: 'string' };
const SCHEMAS: Readonly<Record<FieldType, JsonSchema>> = {
  text: TEXT,
  lines: TEXT,
  markdown: TEXT,
  html: TEXT,
  attr: TEXT,
  url: TEXT,
  number: { type: 'number' },
  integer: { type: 'integer' },
  money: {
    type: 'object',
    properties: { amount: { type: 'number' }, currency: { type: ['string', 'null'] } },
    required: ['amount', 'currency'],
  },
  date: { type: 'string', format: 'date-time' },
  exists: { type: 'boolean' },
  boolean: { type: 'boolean' },
};
