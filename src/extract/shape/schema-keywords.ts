/** What stands under a keyword of JSON Schema, as far as checking and copying it needs to know. */
export type KeywordForm =
  | 'schema'
  | 'schemas'
  | 'schema_or_schemas'
  | 'schema_map'
  | 'schema_or_names_map'
  | 'names'
  | 'names_map'
  | 'types'
  | 'count'
  | 'number'
  | 'number_or_boolean'
  | 'boolean'
  | 'any'
  | 'list'
  | 'format'
  | 'pattern'
  | 'pattern_map'
  | 'ref'
  | 'refused';

/**
 * The keywords that are held to; all others are annotations and left out. Source: JSON Schema 2020-12 (validation and applicator
 * vocabularies) and what the drafts 4, 7 and 2019-09 have besides.
 */
export const KEYWORDS: ReadonlyMap<string, KeywordForm> = new Map<string, KeywordForm>([
  ['$ref', 'ref'],
  // What these refer to depends on the way there, so they can't be put in place beforehand.
  ['$dynamicRef', 'refused'],
  ['$recursiveRef', 'refused'],
  ['type', 'types'],
  ['const', 'any'],
  ['enum', 'list'],
  ['allOf', 'schemas'],
  ['anyOf', 'schemas'],
  ['oneOf', 'schemas'],
  ['not', 'schema'],
  ['if', 'schema'],
  ['then', 'schema'],
  ['else', 'schema'],
  ['properties', 'schema_map'],
  ['patternProperties', 'pattern_map'],
  ['additionalProperties', 'schema'],
  ['unevaluatedProperties', 'schema'],
  ['propertyNames', 'schema'],
  ['required', 'names'],
  ['minProperties', 'count'],
  ['maxProperties', 'count'],
  ['dependentRequired', 'names_map'],
  ['dependentSchemas', 'schema_map'],
  ['dependencies', 'schema_or_names_map'],
  ['prefixItems', 'schemas'],
  ['items', 'schema_or_schemas'],
  ['additionalItems', 'schema'],
  ['unevaluatedItems', 'schema'],
  ['contains', 'schema'],
  ['minContains', 'count'],
  ['maxContains', 'count'],
  ['minItems', 'count'],
  ['maxItems', 'count'],
  ['uniqueItems', 'boolean'],
  ['minimum', 'number'],
  ['maximum', 'number'],
  ['exclusiveMinimum', 'number_or_boolean'],
  ['exclusiveMaximum', 'number_or_boolean'],
  ['multipleOf', 'number'],
  ['minLength', 'count'],
  ['maxLength', 'count'],
  ['pattern', 'pattern'],
  ['format', 'format'],
]);

export const TYPES: ReadonlySet<unknown> = new Set([
  'null',
  'boolean',
  'object',
  'array',
  'number',
  'integer',
  'string',
]);

/** The standard's formats that the library knows; others are annotations, as the standard has it. */
export const FORMATS: ReadonlySet<string> = new Set([
  'date',
  'time',
  'date-time',
  'duration',
  'uri',
  'uri-reference',
  'uri-template',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'regex',
  'uuid',
  'json-pointer',
  'relative-json-pointer',
]);

export type Draft = '4' | '7' | '2019-09' | '2020-12';

/** `$schema` → the draft; null for one that is not known. Without one it is the newest. */
export function draftOf(uri: unknown): Draft | null {
  if (uri === undefined) return '2020-12';
  if (typeof uri !== 'string') return null;
  if (/\/draft-0[67]\/schema/.test(uri)) return '7';
  if (uri.includes('/draft-04/schema')) return '4';
  if (uri.includes('/2019-09/schema')) return '2019-09';
  return uri.includes('/2020-12/schema') ? '2020-12' : null;
}
