import type * as z from 'zod';
import type { ProblemCode } from './problem.ts';
import type { HeaderName } from './headers.ts';
import { BODY_PROBLEMS, COMMON_PROBLEMS } from './problem-table.ts';
import type { EndpointId, RouteSpec, Shape } from './routes.ts';

/** The description of an endpoint, in addition to its route. */
export interface EndpointText {
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** The text in the call table of docs/api.md, in Markdown. */
  readonly guide?: string;
  /** Path parameter → schema. */
  readonly params?: Shape;
  /** Query parameter → schema. Values are text on the wire; the schemas describe the value that the text represents. */
  readonly query?: Shape;
  /** Request headers, except those of authentication. */
  readonly headers?: Shape;
  readonly body?: BodySpec;
  readonly responses: Readonly<Partial<Record<SuccessStatus, ResponseSpec>>>;
  /** All problem codes of the endpoint. */
  readonly problems: readonly ProblemCode[];
  /** Status → description of the problem response, instead of the list of its codes. */
  readonly problemTexts?: Readonly<Record<number, string>>;
}

/** Whether the JSON responses of the endpoint may have `warnings` about ignored members of its body. Source: contract, 2.9. */
export function hasWarnings({ access, body: spec }: Pick<Endpoint, 'access' | 'body'>): boolean {
  return access === 'secret' && spec !== undefined;
}

/** The texts of some endpoints. */
export type EndpointTexts = Readonly<Partial<Record<EndpointId, EndpointText>>>;

/** One endpoint of the service. */
export type Endpoint = RouteSpec & EndpointText;

export type Tag =
  | 'account'
  | 'audit'
  | 'collector'
  | 'connectors'
  | 'dashboard'
  | 'decisions'
  | 'extractions'
  | 'lists'
  | 'models'
  | 'operation'
  | 'policy'
  | 'privacy'
  | 'reviews'
  | 'sessions'
  | 'watches'
  | 'webhooks';

/** 503 is the readiness response, and 401 a challenge of the gate, which are not problems. */
type SuccessStatus = 200 | 201 | 202 | 204 | 304 | 401 | 503;

export interface BodySpec {
  /** The schema of the `application/json` body. */
  readonly schema: z.ZodType;
  readonly required: boolean;
  /** Schemas that `schema` refers to by name, because it validates the items only after it has counted them. */
  readonly parts?: readonly z.ZodType[];
  /** false if any body is accepted and the document describes none, as for `cancelExtraction`. */
  readonly described?: boolean;
}

export interface ResponseSpec {
  readonly description: string;
  /** Media type → schema; absent if there is no body. Later versions may add fields to each of them. */
  readonly content?: Readonly<Record<string, z.ZodType>>;
  /** Response headers, except those of rate limits. */
  readonly headers?: readonly HeaderName[];
}

/** Returns the spec of a JSON response. */
export function json(schema: z.ZodType, description: string, headers: readonly HeaderName[] = []): ResponseSpec {
  return { description, content: { 'application/json': schema }, headers };
}

export function noContent(description: string): ResponseSpec {
  return { description };
}

export function body(schema: z.ZodType): BodySpec {
  return { schema, required: true };
}

/** For endpoints that do not require a body. */
export function optionalBody(schema: z.ZodType): BodySpec {
  return { schema, required: false };
}

/** Problem codes of endpoints that take a secret key. */
const SECRET_PROBLEMS = [...COMMON_PROBLEMS, 'key_not_allowed'] as const satisfies readonly ProblemCode[];

/** Returns the problem codes of a read without a body, and `more`. */
export function reads(...more: readonly ProblemCode[]): readonly ProblemCode[] {
  return [...SECRET_PROBLEMS, ...more];
}

/** Returns the problem codes of a write without a body, and `more`. */
export function writes(...more: readonly ProblemCode[]): readonly ProblemCode[] {
  return reads('cluster_unavailable', 'insufficient_storage', ...more);
}

/** Returns the problem codes of a write with a validated body, and `more`. */
export function writesBody(...more: readonly ProblemCode[]): readonly ProblemCode[] {
  return writes(...BODY_PROBLEMS, ...more);
}

/** Returns the problem codes of a write that ignores its body, which must still be JSON, and `more`. */
export function writesAnyBody(...more: readonly ProblemCode[]): readonly ProblemCode[] {
  return writes('malformed_json', 'unsupported_media_type', ...more);
}
