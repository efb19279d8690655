/** Types of the client, written from the OpenAPI document: one for each schema that a call uses, and one entry for each call. */

interface ApiSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly description?: string;
  readonly items?: ApiSchema;
  readonly properties?: Readonly<Record<string, ApiSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | ApiSchema;
  readonly anyOf?: readonly ApiSchema[];
  readonly oneOf?: readonly ApiSchema[];
  readonly allOf?: readonly ApiSchema[];
}

interface ApiParameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: ApiSchema;
}

interface ApiContent {
  readonly content?: Readonly<Record<string, { readonly schema: ApiSchema }>>;
}

interface ApiOperation {
  readonly operationId: string;
  readonly summary?: string;
  readonly parameters?: readonly ApiParameter[];
  readonly requestBody?: ApiContent;
  readonly responses: Readonly<Record<string, ApiContent>>;
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, ApiSchema>>;
    readonly parameters: Readonly<Record<string, ApiParameter>>;
  };
}

const HEAD = `// Written from docs/openapi.json by \`npm run write:openapi\`. Changes here are lost.
`;
const METHODS: ReadonlySet<string> = new Set(['get', 'post', 'put', 'patch', 'delete']);
/** Calls that only browsers make. */
const OF_BROWSERS = /^\/v1\/collector/;
/** The body of every refusal. */
const ALWAYS = 'Api.Problem';
const COMMENT_WIDTH_MAX = 120;
const JSON_TYPE = 'application/json';

/** Returns the text of a module that exports the namespace `Api` and the interface `ApiCalls`. */
export function clientTypes(document: ApiDocument): string {
  const { schemas, parameters } = document.components;
  const calls: string[] = [];
  for (const [path, methods] of Object.entries(document.paths)) {
    if (!path.startsWith('/v1/') || OF_BROWSERS.test(path)) continue;
    for (const [method, operation] of Object.entries(methods))
      if (METHODS.has(method)) calls.push(callOf(method, path, operation, parameters));
  }
  const used = usedSchemas(`${ALWAYS}\n${calls.join('\n')}`, schemas);
  const types = Object.entries(schemas)
    .filter(([name]) => used.has(name))
    .map(([name, schema]) => `${comment(schema.description, 1)}  type ${name} = ${typeOf(schema, 1, '')};\n`);
  return `${HEAD}
export declare namespace Api {
${types.join('\n')}}

/** Each call by its operationId: its query, its body and the JSON of its successful responses. */
export interface ApiCalls {
${calls.join('\n')}}
`;
}

function callOf(
  method: string,
  path: string,
  operation: ApiOperation,
  shared: ApiDocument['components']['parameters'],
): string {
  const query = (operation.parameters ?? [])
    .map((parameter) => shared[parameter.$ref?.split('/').at(-1) ?? ''] ?? parameter)
    .filter((parameter) => parameter.in === 'query');
  const fields: ApiSchema = {
    type: 'object',
    properties: Object.fromEntries(
      query.map(({ name, schema, description }) => [name, { ...schema, ...(description && { description }) }]),
    ),
    required: query.flatMap(({ name, required }) => (required === true ? [name] : [])),
  };
  const body = operation.requestBody?.content?.[JSON_TYPE]?.schema;
  const answers = Object.entries(operation.responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, { content }]) => content?.[JSON_TYPE]?.schema)
    .map((schema) => (schema === undefined ? 'undefined' : typeOf(schema, 2)));
  return `${comment(`${operation.summary ?? ''}: \`${method.toUpperCase()} ${path}\``, 1)}  ${operation.operationId}: {
    readonly query: ${query.length === 0 ? 'undefined' : typeOf(fields, 2)};
    readonly body: ${body === undefined ? 'undefined' : typeOf(body, 2)};
    readonly answer: ${[...new Set(answers)].join(' | ')};
  };
`;
}

/** Returns the names of the schemas that a text uses, and those that these use. */
function usedSchemas(text: string, schemas: Readonly<Record<string, ApiSchema>>): ReadonlySet<string> {
  const used = new Set<string>();
  const read = (part: string): void => {
    for (const [, name = ''] of part.matchAll(/\bApi\.(\w+)/g)) {
      const schema = schemas[name];
      if (used.has(name) || schema === undefined) continue;
      used.add(name);
      read(typeOf(schema, 0));
    }
  };
  read(text);
  return used;
}

/** `space`: the prefix of a referenced type, empty inside the namespace. */
function typeOf(schema: ApiSchema, depth: number, space = 'Api.'): string {
  const { $ref, anyOf, oneOf, allOf } = schema;
  if ($ref !== undefined) return `${space}${$ref.split('/').at(-1)}`;
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const parts = (list: readonly ApiSchema[]): string[] => [...new Set(list.map((one) => typeOf(one, depth, space)))];
  if (allOf !== undefined) return parts(allOf).join(' & ');
  const either = anyOf ?? oneOf;
  if (either !== undefined) return parts(either).join(' | ');
  const types = [schema.type ?? 'unknown'].flat().map((type) => plainType(type, schema, depth, space));
  return [...new Set(types)].join(' | ');
}

function plainType(type: string, schema: ApiSchema, depth: number, space: string): string {
  switch (type) {
    case 'integer':
      return 'number';
    case 'array': {
      const item = typeOf(schema.items ?? {}, depth, space);
      return `readonly ${/[ |&]/.test(item) && !item.startsWith('{') ? `(${item})` : item}[]`;
    }
    case 'object':
      return objectType(schema, depth, space);
    default:
      return type;
  }
}

function objectType(schema: ApiSchema, depth: number, space: string): string {
  const { properties = {}, required = [], additionalProperties } = schema;
  const indent = '  '.repeat(depth);
  const fields = Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? '' : '?';
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
    return `${comment(field.description, depth + 1)}${indent}  readonly ${key}${mark}: ${typeOf(field, depth + 1, space)};\n`;
  });
  const others = typeof additionalProperties === 'object' ? typeOf(additionalProperties, depth, space) : 'unknown';
  if (fields.length === 0) return `{ readonly [name: string]: ${others} }`;
  if (additionalProperties !== undefined && additionalProperties !== false)
    fields.push(`${indent}  readonly [name: string]: ${others};\n`);
  return `{\n${fields.join('')}${indent}}`;
}

/** Returns a comment with lines of bounded width, or nothing. */
function comment(text: string | undefined, depth: number): string {
  if (text === undefined || text === '') return '';
  const indent = '  '.repeat(depth);
  const lines = [''];
  for (const word of text.replaceAll('*/', '* /').split(/\s+/)) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && indent.length + line.length + word.length > COMMENT_WIDTH_MAX) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}
