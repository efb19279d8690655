import { type ProblemCode, PROBLEMS } from './problem.ts';

/** Problem codes of every endpoint that needs a key. */
export const COMMON_PROBLEMS = [
  'invalid_request',
  'missing_credentials',
  'unknown_key',
  'invalid_signature',
  'timestamp_out_of_window',
  'replayed_request',
  'method_not_allowed',
  'length_required',
  'body_too_large',
  'role_not_served',
  'rate_limited',
  'overloaded',
  'headers_too_large',
  'internal_error',
] as const satisfies readonly ProblemCode[];

/** Problem codes for malformed requests, which are checked before anything else. */
export const FORM_PROBLEMS = [
  'method_not_allowed',
  'length_required',
  'body_too_large',
  'invalid_request',
  'headers_too_large',
] as const satisfies readonly ProblemCode[];

/** Additional problem codes of endpoints that accept a body. */
export const BODY_PROBLEMS = [
  'malformed_json',
  'unsupported_media_type',
  'validation_failed',
] as const satisfies readonly ProblemCode[];

/** Returns status → codes, both in the order of `PROBLEMS`, so that the document does not depend on the order within an entry. */
export function problemsByStatus(codes: readonly ProblemCode[]): ReadonlyMap<number, readonly ProblemCode[]> {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of Object.keys(PROBLEMS) as ProblemCode[]) {
    if (!codes.includes(code)) continue;
    const [status] = PROBLEMS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return byStatus;
}
