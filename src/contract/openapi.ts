import type * as z from 'zod';
import type { ProblemCode } from './problem.ts';
import { type Endpoint, hasWarnings, type ResponseSpec } from './endpoint.ts';
import { ENDPOINTS } from './endpoints.ts';
import { preflightOf } from './endpoints/preflight-endpoints.ts';
import { CORS_HEADERS, type HeaderName, HEADERS, RATE_HEADERS } from './headers.ts';
import { convertSchemas, type SchemaValue } from './json-schema.ts';
import { INFO, PROBLEM_TEXTS, RESPONSE_NAMES, SECURITY, SECURITY_SCHEMES, SERVERS } from './openapi-parts.ts';
import { PARAMETER_NAMES } from './parameters.ts';
import { problemsByStatus } from './problem-table.ts';
import { IGNORED_MEMBERS } from './responses/warning-responses.ts';
import { PROBLEM } from './responses/problem-responses.ts';
import type { EndpointId, Shape } from './routes.ts';

/** Returns the OpenAPI 3.1 document of `ENDPOINTS`, which is docs/openapi.json. `version` is the version of the service. */
export function openApiDocument(version: string): SchemaValue {
  const writer = new DocumentWriter();
  const paths: Record<string, Record<string, SchemaValue>> = {};
  for (const id of Object.keys(ENDPOINTS) as EndpointId[]) {
    const endpoint = ENDPOINTS[id];
    const path = (paths[endpoint.path] ??= {});
    path[endpoint.method.toLowerCase()] = writer.operation(id, endpoint);
    if (endpoint.cors === true) path['options'] = writer.operation(`${id}Preflight`, preflightOf(endpoint));
  }
  const tags = [...new Set(Object.values(ENDPOINTS).map(({ tag }) => tag))].sort();
  return {
    openapi: '3.1.0',
    info: { ...INFO, version },
    servers: SERVERS,
    tags: tags.map((name) => ({ name })),
    paths,
    components: { securitySchemes: SECURITY_SCHEMES, ...writer.components() },
  };
}

/** Builds operations, and collects the components that they refer to. */
class DocumentWriter {
  readonly #schemas: ReadonlyMap<z.ZodType, SchemaValue>;
  readonly #schemaComponents: Readonly<Record<string, SchemaValue>>;
  readonly #headers: Record<string, SchemaValue> = {};
  readonly #responses: Record<string, SchemaValue> = {};
  readonly #parameters: Record<string, SchemaValue> = {};

  constructor() {
    const all = [
      ...new Set([PROBLEM, IGNORED_MEMBERS, ...Object.values(ENDPOINTS).flatMap(schemasOf), ...headerSchemas()]),
    ];
    const { components, schemas } = convertSchemas(all);
    this.#schemaComponents = components;
    this.#schemas = new Map(all.map((schema, index) => [schema, schemas[index] ?? {}]));
  }

  components(): SchemaValue {
    return {
      headers: this.#headers,
      schemas: this.#schemaComponents,
      responses: this.#responses,
      parameters: this.#parameters,
    };
  }

  operation(id: string, endpoint: Endpoint): SchemaValue {
    const { tag, summary, description, access } = endpoint;
    const parameters = this.#parametersOf(endpoint);
    return {
      operationId: id,
      tags: [tag],
      summary,
      ...(description !== undefined && { description }),
      security: SECURITY[access],
      ...(parameters.length > 0 && { parameters }),
      ...this.#requestBody(endpoint),
      responses: this.#responsesOf(endpoint),
    };
  }

  #parametersOf({ params = {}, query = {}, headers = {} }: Endpoint): readonly SchemaValue[] {
    return [
      ...this.#parametersIn('path', params),
      ...this.#parametersIn('header', headers),
      ...this.#parametersIn('query', query),
    ];
  }

  #parametersIn(place: 'path' | 'header' | 'query', shape: Shape): readonly SchemaValue[] {
    return Object.entries(shape).map(([name, zodSchema]) => {
      const { description, ...schema } = this.#schemaOf(zodSchema);
      const parameter = {
        name,
        in: place,
        ...(place === 'path' && { required: true }),
        ...(description !== undefined && { description }),
        schema,
      };
      const component = PARAMETER_NAMES.get(zodSchema);
      if (component === undefined) return parameter;
      this.#parameters[component] = parameter;
      return { $ref: `#/components/parameters/${component}` };
    });
  }

  #requestBody({ body }: Endpoint): SchemaValue {
    if (body === undefined || body.described === false) return {};
    const content = { 'application/json': { schema: this.#schemaOf(body.schema) } };
    return { requestBody: { required: body.required, content } };
  }

  #responsesOf(endpoint: Endpoint): SchemaValue {
    // Integer keys are enumerated in ascending order, so success and problem responses are sorted.
    const responses: Record<number, SchemaValue> = {};
    for (const [status, spec] of Object.entries(endpoint.responses)) {
      responses[Number(status)] = this.#response(spec, endpoint);
    }
    for (const [status, codes] of problemsByStatus(endpoint.problems)) {
      responses[status] = this.#refusal(status, codes, endpoint);
    }
    return responses;
  }

  #response({ description, content = {}, headers = [] }: ResponseSpec, endpoint: Endpoint): SchemaValue {
    const names = [...rateHeaders(endpoint), ...headers];
    const types = Object.entries(content).map(([type, schema]) => [
      type,
      { schema: this.#contentOf(type, schema, endpoint) },
    ]);
    return {
      description,
      ...(names.length > 0 && { headers: this.#headersOf(names) }),
      ...(types.length > 0 && { content: Object.fromEntries(types) as SchemaValue }),
    };
  }

  /** A JSON response to a call with a body may have warnings about it. */
  #contentOf(type: string, schema: z.ZodType, endpoint: Endpoint): SchemaValue {
    const converted = this.#schemaOf(schema);
    if (type !== 'application/json' || !hasWarnings(endpoint)) return converted;
    return { allOf: [converted, this.#schemaOf(IGNORED_MEMBERS)] };
  }

  #refusal(status: number, codes: readonly ProblemCode[], endpoint: Endpoint): SchemaValue {
    const text = endpoint.problemTexts?.[status];
    const names = [...rateHeaders(endpoint), ...refusalHeaders(status, endpoint), ...corsHeaders(endpoint)];
    const response = {
      description: text ?? PROBLEM_TEXTS[status] ?? `One of the codes ${codes.join(', ')}`,
      ...(names.length > 0 && { headers: this.#headersOf(names) }),
      content: {
        'application/problem+json': {
          schema: { allOf: [this.#schemaOf(PROBLEM), { properties: { code: { enum: codes } } }] },
        },
      },
    };
    const component = endpoint.access === 'secret' && text === undefined ? RESPONSE_NAMES[codes.join()] : undefined;
    if (component === undefined) return response;
    this.#responses[component] = response;
    return { $ref: `#/components/responses/${component}` };
  }

  #headersOf(names: readonly HeaderName[]): SchemaValue {
    const entries = names.map((name) => {
      const { schema: zodSchema, ...spec }: { id?: string; description?: string; schema: z.ZodType } = HEADERS[name];
      const { id, description } = spec;
      const header = { ...(description !== undefined && { description }), schema: this.#schemaOf(zodSchema) };
      if (id === undefined) return [name, header];
      this.#headers[id] = header;
      return [name, { $ref: `#/components/headers/${id}` }];
    });
    return Object.fromEntries(entries) as SchemaValue;
  }

  #schemaOf(schema: z.ZodType): SchemaValue {
    const converted = this.#schemas.get(schema);
    if (converted === undefined) throw new Error('a schema of an endpoint was not converted');
    return converted;
  }
}

function schemasOf({ params = {}, query = {}, headers = {}, body, responses }: Endpoint): readonly z.ZodType[] {
  return [
    ...Object.values({ ...params, ...query, ...headers }),
    ...(body === undefined ? [] : [body.schema, ...(body.parts ?? [])]),
    ...Object.values(responses).flatMap(({ content = {} }) => Object.values(content)),
  ];
}

function headerSchemas(): readonly z.ZodType[] {
  return Object.values(HEADERS).map(({ schema }) => schema);
}

function rateHeaders({ access }: Endpoint): readonly HeaderName[] {
  return access === 'none' || access === 'metrics_token' || access === 'gate' ? [] : RATE_HEADERS;
}

function corsHeaders({ cors }: Endpoint): readonly HeaderName[] {
  return cors === true ? CORS_HEADERS : [];
}

/**
 * Returns the headers of a problem response by its status. Calls with a public key get no WWW-Authenticate, because their scheme is our
 * own.
 */
function refusalHeaders(status: number, { access, responses }: Endpoint): readonly HeaderName[] {
  switch (status) {
    case 401:
      return access === 'public_or_secret' || access === 'public' ? [] : ['WWW-Authenticate'];
    case 404:
      // What is not found may be on a node that did not answer. The response is shared by all endpoints with a secret key.
      return access === 'secret' ? ['X-SVC-Partial'] : [];
    case 409:
      return responses[200]?.headers?.includes('X-SVC-Partial') === true ? ['X-SVC-Partial'] : [];
    case 405:
      return ['Allow'];
    case 429:
    case 503:
      return ['Retry-After'];
    default:
      return [];
  }
}
