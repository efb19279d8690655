/** Form of the value of a JSON Schema keyword, as far as validating and copying it requires. */
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
 * The keywords that are enforced; all others are annotations and omitted. Source: JSON Schema 2020-12 (validation and applicator
 * vocabularies), plus what the drafts 4, 7 and 2019-09 add.
 */
export const KEYWORDS: ReadonlyMap<string, KeywordForm> = new Map<string, KeywordForm>([
  ['$ref', 'ref'],
  // The targets of these depend on the dynamic path, so they cannot be expanded in advance.
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

/** The keywords whose subschemas apply to the members or items of a value. Those of all others apply to the value itself. */
export const DESCENDING: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'prefixItems',
  'items',
  'additionalItems',
  'unevaluatedItems',
  'contains',
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

/** The standard formats that the library supports. Others are annotations, as the standard defines. */
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

/** Maps `$schema` to the draft; null if it is unknown. The newest draft if it is absent. */
export function draftOf(uri: unknown): Draft | null {
  if (uri === undefined) return '2020-12';
  if (typeof uri !== 'string') return null;
  if (/\/draft-0[67]\/schema/.test(uri)) return '7';
  if (uri.includes('/draft-04/schema')) return '4';
  if (uri.includes('/2019-09/schema')) return '2019-09';
  return uri.includes('/2020-12/schema') ? '2020-12' : null;
}
