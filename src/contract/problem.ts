/**
 * An error response of the service. `code` is stable and public; `detail` is public text, so it never contains internal information.
 * Source: contract, 2.3 (RFC 9457).
 */
export interface Problem {
  readonly status: number;
  readonly code: ProblemCode;
  readonly detail: string;
  readonly errors?: readonly FieldError[];
  /** The service's time in Unix seconds; sent when the client's clock is wrong. */
  readonly serverTime?: number;
  /** Whole seconds, at least 1; sent on 429 and 503. */
  readonly retryAfterSeconds?: number;
  /** What is full; sent with `overloaded`. */
  readonly reason?: OverloadReason;
}

/** What `overloaded` is about. docs/overload.md has a row for each. Source: contract, 2.4. */
export const OVERLOAD_REASONS = [
  'capacity',
  'customer_share',
  'request_ids',
  'disk',
  'shared_store',
  'bodies',
  'starting',
  'stopping',
  'calls',
  'searches',
  'simulations',
  'deliveries',
  'delivery_pages',
  'sign_ins',
] as const;
export type OverloadReason = (typeof OVERLOAD_REASONS)[number];

export interface FieldError {
  /** RFC 6901 pointer into the request body; `?name` for a parameter of the query. */
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
  /** Place in the text of the field, both from 1. */
  readonly line?: number;
  readonly column?: number;
  readonly did_you_mean?: string;
}

/** A member of a body that nothing reads. Source: contract, 2.9. */
export interface IgnoredMember {
  readonly pointer: string;
  readonly code: 'unknown_field';
  readonly did_you_mean?: string;
}

/** Choice: maximum number of characters of a client's own name that are returned in a pointer. */
const POINTER_PART_CHARACTERS_MAX = 64;

/** Returns one name as part of a pointer, RFC 6901; truncated, because it may come from the client. */
export function pointerPart(name: string): string {
  return name.slice(0, POINTER_PART_CHARACTERS_MAX).replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Code → its status and its title. Source: contract, 2.4. */
export const PROBLEMS = {
  malformed_json: [400, 'Malformed JSON body'],
  invalid_request: [400, 'Invalid request'],
  too_many_members: [400, 'Too many members'],
  missing_credentials: [401, 'Missing credentials'],
  unknown_key: [401, 'Unknown API key'],
  invalid_signature: [401, 'Signature verification failed'],
  timestamp_out_of_window: [401, 'Timestamp outside the accepted window'],
  replayed_request: [401, 'Request id already used'],
  revoked_key: [401, 'Revoked API key'],
  invalid_code: [401, 'Invalid sign-in code'],
  session_required: [401, 'Dashboard session required'],
  key_not_allowed: [403, 'Key not allowed here'],
  origin_not_allowed: [403, 'Origin not allowed'],
  cross_site_request: [403, 'Request of another site'],
  read_only: [403, 'Dashboard is read-only'],
  not_found: [404, 'Not found'],
  method_not_allowed: [405, 'Method not allowed'],
  not_ready: [409, 'Not ready'],
  confirm_required: [409, 'Confirmation required'],
  limit_reached: [409, 'Limit reached'],
  records_delivered: [409, 'Records are delivered elsewhere'],
  idempotency_conflict: [409, 'Idempotency key already used'],
  rule_in_policy: [409, 'Rule of the policy file'],
  in_use: [409, 'In use'],
  not_restorable: [409, 'Version not kept'],
  length_required: [411, 'Length required'],
  precondition_failed: [412, 'Precondition failed'],
  body_too_large: [413, 'Body too large'],
  unsupported_media_type: [415, 'Unsupported media type'],
  role_not_served: [421, 'Not served by this node'],
  validation_failed: [422, 'Validation failed'],
  blocked_url: [422, 'URL not allowed'],
  unknown_connector: [422, 'Unknown connector'],
  unknown_operation: [422, 'Unknown operation'],
  sync_limit_exceeded: [422, 'Too many records for an inline answer'],
  rate_limited: [429, 'Rate limit exceeded'],
  overloaded: [429, 'Overloaded'],
  headers_too_large: [431, 'Request header fields too large'],
  internal_error: [500, 'Internal error'],
  queue_full: [503, 'Queue full'],
  cluster_unavailable: [503, 'Cluster unavailable'],
  test_outage: [503, 'Outage for a test'],
  insufficient_storage: [507, 'Insufficient storage'],
} as const satisfies Record<string, readonly [status: number, title: string]>;

export type ProblemCode = keyof typeof PROBLEMS;

export function problem(
  code: ProblemCode,
  detail: string,
  extra: Pick<Problem, 'errors' | 'serverTime' | 'retryAfterSeconds' | 'reason'> = {},
): Problem {
  return { status: PROBLEMS[code][0], code, detail, ...extra };
}

/** Returns the `application/problem+json` body. */
export function problemBody(fault: Problem, requestId: string): string {
  return JSON.stringify({
    type: `urn:gatehouse:error:${fault.code}`,
    title: PROBLEMS[fault.code][1],
    status: fault.status,
    code: fault.code,
    detail: fault.detail,
    ...(fault.reason !== undefined && { reason: fault.reason }),
    request_id: requestId,
    ...(fault.errors && { errors: fault.errors }),
    ...(fault.serverTime !== undefined && { server_time: fault.serverTime }),
    ...(fault.retryAfterSeconds !== undefined && { retry_after: fault.retryAfterSeconds }),
  });
}
