import type { JsonObject, JsonSchema } from '../../base/connector.ts';

/** Builders for the connectors' small JSON Schemas, so that all of them describe the same things in the same way. */
type Properties = Readonly<Record<string, JsonSchema>>;

/** Choice: far above real addresses of sites. With this limit, the steps of a job stay under 4 KiB. */
const SITE_CHARACTERS_MAX = 800;
/** Choice: about the maximum that these search interfaces accept, and small enough for the steps of a job. */
const QUERY_CHARACTERS_MAX = 300;

/** Schema of a record: every property is always present, and their order is that of the columns. */
export function recordSchema(properties: Properties): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties) };
}

/** Schema of an input: everything except `required` is optional, and no other members are allowed. */
export function inputSchema(properties: Properties, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** Returns the properties without some of them, for a source that lacks what others of its kind have. */
export function without(properties: Properties, ...names: readonly string[]): Properties {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !names.includes(name)));
}

export function idField(description: string): JsonSchema {
  return { type: 'string', description };
}

export function textField(description: string): JsonSchema {
  return { type: ['string', 'null'], description };
}

export function urlField(description: string): JsonSchema {
  return textField(`${description} Absolute.`);
}

export function dateField(description: string): JsonSchema {
  return { type: ['string', 'null'], format: 'date-time', description: `${description} ISO 8601, UTC.` };
}

export function countField(description: string): JsonSchema {
  return { type: ['integer', 'null'], description };
}

export function numberField(description: string): JsonSchema {
  return { type: ['number', 'null'], description };
}

export function flagField(description: string): JsonSchema {
  return { type: ['boolean', 'null'], description };
}

export function textsField(description: string): JsonSchema {
  return { type: ['array', 'null'], items: { type: 'string' }, description };
}

export function objectField(description: string, properties: Properties): JsonSchema {
  return { type: ['object', 'null'], description, properties, required: Object.keys(properties) };
}

export function objectsField(description: string, properties: Properties): JsonSchema {
  const items = { type: 'object', properties, required: Object.keys(properties) };
  return { type: ['array', 'null'], description, items };
}

export function authorField(description = 'Who wrote it.'): JsonSchema {
  return objectField(description, { name: textField('As the source shows it.'), url: urlField('Their page.') });
}

/** `{name, url}`; null if both are unknown. */
export function author(name: string | null, url: string | null): JsonObject | null {
  return name === null && url === null ? null : { name, url };
}

export function siteInput(description: string): JsonSchema {
  return { type: 'string', minLength: 1, maxLength: SITE_CHARACTERS_MAX, description };
}

export function queryInput(description: string): JsonSchema {
  return { type: 'string', minLength: 1, maxLength: QUERY_CHARACTERS_MAX, pattern: '\\S', description };
}

/** A name that becomes part of a path or a filter. `pattern` matches the names that the source allows. */
export function nameInput(description: string, pattern: string, charactersMax = 200): JsonSchema {
  return { type: 'string', minLength: 1, maxLength: charactersMax, pattern, description };
}

export function choiceInput(description: string, choices: readonly string[], byDefault: string): JsonSchema {
  return { type: 'string', enum: choices, default: byDefault, description };
}

export function numberInput(description: string): JsonSchema {
  return { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description };
}

export function flagInput(description: string): JsonSchema {
  return { type: 'boolean', default: false, description };
}

export function dateInput(description: string): JsonSchema {
  return { type: 'string', minLength: 7, maxLength: 40, description: `${description} ISO 8601.` };
}
