import type { Access } from './routes.ts';

/** Parts of the document that do not belong to an endpoint. */

export const INFO = {
  title: 'Gatehouse',
  summary: 'Risk decisions for logins, sign-ups, checkouts and payments',
  description: 'Every endpoint with GET also supports HEAD, with the same status and header fields and no body.',
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
};

export const SERVERS = [{ url: 'http://127.0.0.1:8080' }];

export const SECURITY_SCHEMES = {
  key: { type: 'apiKey', in: 'header', name: 'X-SVC-Key', description: 'sk_live_… or pk_live_…' },
  timestamp: {
    type: 'apiKey',
    in: 'header',
    name: 'X-SVC-Ts',
    description: 'Unix seconds, 1 to 12 digits, within 300 s of the server',
  },
  requestId: {
    type: 'apiKey',
    in: 'header',
    name: 'X-SVC-Rid',
    description: '1 to 128 visible ASCII characters, never used before with this key',
  },
  signature: {
    type: 'apiKey',
    in: 'header',
    name: 'X-SVC-Sig',
    description: 'HMAC-SHA256 of the signing string, 64 hex digits',
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'A secret key, sk_live_…; if X-SVC-Sig is sent as well, the signature must verify too',
  },
  metricsToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'GATEHOUSE_METRICS_TOKEN; without that setting, loopback addresses need no token',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-gh',
    description: 'A dashboard session; on plain HTTP, for this machine only, the cookie is gh_dev',
  },
};

const SIGNED = { key: [], timestamp: [], requestId: [], signature: [] };

export const SECURITY: Readonly<Record<Access, readonly object[]>> = {
  none: [],
  secret: [{ bearer: [] }, SIGNED],
  public_or_secret: [SIGNED],
  public: [{ key: [] }, SIGNED],
  gate: [{ bearer: [] }],
  metrics_token: [{}, { metricsToken: [] }],
  sign_in: [],
  session: [{ session: [] }],
};

/** Problem responses that most endpoints share: codes → component name. */
export const RESPONSE_NAMES: Readonly<Record<string, string>> = {
  invalid_request: 'InvalidRequest',
  'malformed_json,invalid_request': 'InvalidBody',
  'malformed_json,invalid_request,too_many_members': 'InvalidDecideBody',
  'missing_credentials,unknown_key,invalid_signature,timestamp_out_of_window,replayed_request': 'Unauthorized',
  key_not_allowed: 'KeyNotAllowed',
  not_found: 'NotFound',
  length_required: 'LengthRequired',
  body_too_large: 'BodyTooLarge',
  unsupported_media_type: 'UnsupportedMediaType',
  validation_failed: 'ValidationFailed',
  'rate_limited,overloaded': 'TooManyRequests',
  headers_too_large: 'HeadersTooLarge',
  internal_error: 'InternalError',
  method_not_allowed: 'MethodNotAllowed',
  insufficient_storage: 'InsufficientStorage',
  cluster_unavailable: 'ClusterUnavailable',
};

/** Status → description of the problem response, instead of the list of its codes. */
export const PROBLEM_TEXTS: Readonly<Record<number, string>> = {
  507: 'The disk is full: insufficient_storage. Send the same request again when there is room',
};
