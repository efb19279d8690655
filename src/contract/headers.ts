import * as z from 'zod';

/** A response header. Headers with an id become components of the document. */
interface HeaderSpec {
  readonly id?: string;
  readonly description?: string;
  readonly schema: z.ZodType;
}

export const HEADERS = {
  'X-SVC-Rl-Limit': { id: 'RlLimit', description: 'Requests allowed in the window', schema: z.int() },
  'X-SVC-Rl-Remaining': { id: 'RlRemaining', description: 'Requests remaining in the window', schema: z.int() },
  'X-SVC-Rl-Reset': { id: 'RlReset', description: 'Unix second at which the window ends', schema: z.int() },
  'RateLimit-Policy': {
    id: 'RateLimitPolicy',
    description: '"default";q=<allowance>;w=60',
    schema: z.string(),
  },
  RateLimit: { id: 'RateLimit', description: '"default";r=<left>;t=<seconds>', schema: z.string() },
  'Access-Control-Allow-Origin': {
    id: 'AllowOrigin',
    description: 'The Origin of the request, or *; only if the public key allows it',
    schema: z.string(),
  },
  'Access-Control-Expose-Headers': { id: 'ExposeHeaders', schema: z.string() },
  'Access-Control-Allow-Methods': { schema: z.string() },
  'Access-Control-Allow-Headers': { schema: z.string() },
  'Access-Control-Max-Age': { description: 'Seconds', schema: z.int() },
  Allow: { description: 'The methods of this path', schema: z.string() },
  Link: { description: 'With ndjson and csv: the next page, if there is one', schema: z.string() },
  Location: { description: 'The path of the created resource', schema: z.string() },
  'Content-Encoding': { description: 'br or gzip, if the client accepts it', schema: z.string() },
  ETag: { description: 'For If-None-Match and If-Match', schema: z.string() },
  Vary: { id: 'Vary', description: 'The request header that the response depends on', schema: z.string() },
  'Set-Cookie': { description: 'The session cookie, or its removal', schema: z.string() },
  'Retry-After': { description: 'Seconds', schema: z.int().min(1) },
  'WWW-Authenticate': { schema: z.literal('Bearer') },
  'X-SVC-Partial': {
    id: 'Partial',
    description: '1 if a node of the cluster that may have more did not answer; absent otherwise',
    schema: z.literal('1'),
  },
  'Idempotent-Replayed': {
    id: 'IdempotentReplayed',
    description: '`true` on a response that was sent before with the same `Idempotency-Key`',
    schema: z.literal('true'),
  },
  'X-Gatehouse-Decision': { id: 'GateDecision', description: 'The decision about the visitor', schema: z.string() },
  'X-Gatehouse-Failed-Open': {
    description: 'Why nothing was decided and the visitor passes, a problem code; absent otherwise',
    schema: z.string(),
  },
  'X-Next-Cursor': { description: 'With ndjson and csv: the next_cursor, if there is one', schema: z.string() },
} as const satisfies Readonly<Record<string, HeaderSpec>>;

export type HeaderName = keyof typeof HEADERS;

/** Present on every response of an endpoint that needs a key, problem responses included. */
export const RATE_HEADERS = [
  'X-SVC-Rl-Limit',
  'X-SVC-Rl-Remaining',
  'X-SVC-Rl-Reset',
  'RateLimit-Policy',
  'RateLimit',
] as const satisfies readonly HeaderName[];

/** Present on every response, problem responses included, to a script of an origin that the presented key allows. */
export const CORS_HEADERS = [
  'Access-Control-Allow-Origin',
  'Access-Control-Expose-Headers',
  'Vary',
] as const satisfies readonly HeaderName[];
