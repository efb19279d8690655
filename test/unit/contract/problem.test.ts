import { describe, expect, test } from 'vitest';
import type { Exchange } from '../../../src/http/exchange.ts';
import { problem, problemBody, PROBLEMS, type ProblemCode } from '../../../src/contract/problem.ts';
import { bodyTooLarge, sendProblem } from '../../../src/http/reply.ts';

const CODES = Object.keys(PROBLEMS) as ProblemCode[];

/** HTTP status by problem code, as the contract lists them. */
const STATUS: Readonly<Record<ProblemCode, number>> = {
  malformed_json: 400,
  invalid_request: 400,
  too_many_members: 400,
  missing_credentials: 401,
  unknown_key: 401,
  invalid_signature: 401,
  timestamp_out_of_window: 401,
  replayed_request: 401,
  revoked_key: 401,
  invalid_code: 401,
  session_required: 401,
  key_not_allowed: 403,
  origin_not_allowed: 403,
  cross_site_request: 403,
  read_only: 403,
  not_found: 404,
  method_not_allowed: 405,
  not_ready: 409,
  confirm_required: 409,
  limit_reached: 409,
  records_delivered: 409,
  idempotency_conflict: 409,
  rule_in_policy: 409,
  in_use: 409,
  not_restorable: 409,
  length_required: 411,
  precondition_failed: 412,
  body_too_large: 413,
  unsupported_media_type: 415,
  role_not_served: 421,
  validation_failed: 422,
  blocked_url: 422,
  unknown_connector: 422,
  unknown_operation: 422,
  sync_limit_exceeded: 422,
  rate_limited: 429,
  overloaded: 429,
  headers_too_large: 431,
  internal_error: 500,
  queue_full: 503,
  test_outage: 503,
  cluster_unavailable: 503,
  insufficient_storage: 507,
};

function sent(): { exchange: Exchange; calls: { status: number; fields: string; body: string; close: boolean }[] } {
  const calls: { status: number; fields: string; body: string; close: boolean }[] = [];
  const exchange: Exchange = {
    aborted: false,
    remoteAddress: () => '127.0.0.1',
    peerAddress: () => '127.0.0.1',
    pauseUntil: () => {},
    readBody: () => {},
    send: (status, fields, body, close = false) => void calls.push({ status, fields, body: String(body), close }),
    addFields: () => {},
    sendStream: () => Promise.resolve(),
  };
  return { exchange, calls };
}

describe('a problem', () => {
  test.each(CODES)('The problem %s has the status of the contract, its own title and its code in the type', (code) => {
    expect(problem(code, 'detail').status).toBe(STATUS[code]);
    const body = JSON.parse(problemBody(problem(code, 'a detail'), 'req_1')) as Record<string, unknown>;
    expect(body).toEqual({
      type: `urn:gatehouse:error:${code}`,
      title: PROBLEMS[code][1],
      status: STATUS[code],
      code,
      detail: 'a detail',
      request_id: 'req_1',
    });
  });

  test('All problem titles are different', () => {
    expect(new Set(CODES.map((code) => PROBLEMS[code][1])).size).toBe(CODES.length);
  });

  test('A problem contains errors, server_time and retry_after only if they are given', () => {
    const errors = [{ pointer: '/ip', code: 'wrong_type', message: 'This must be a string.' }];
    const full = problem('invalid_request', 'x', { errors, serverTime: 0, retryAfterSeconds: 7 });
    const body = JSON.parse(problemBody(full, 'req_1')) as Record<string, unknown>;
    expect(body).toMatchObject({ errors, server_time: 0, retry_after: 7 });
  });
});

describe('sending a problem', () => {
  test('A problem is sent as problem+json with no-store, a new request id and the given header lines', () => {
    const { exchange, calls } = sent();
    sendProblem(exchange, problem('not_found', 'x'), { more: '\r\nX-A: b' });
    expect(calls).toHaveLength(1);
    expect(calls[0]?.fields).toBe('application/problem+json\r\nCache-Control: no-store\r\nX-A: b');
    expect(calls[0]?.close).toBe(false);
    expect(JSON.parse(calls[0]?.body ?? '')).toMatchObject({
      request_id: expect.stringMatching(/^req_[0-9A-Z]{26}$/) as string,
    });
  });

  test('A wait is sent as Retry-After, and the connection is closed on request', () => {
    const { exchange, calls } = sent();
    sendProblem(exchange, problem('overloaded', 'x', { retryAfterSeconds: 3 }), { requestId: 'req_7', close: true });
    expect(calls[0]?.fields).toContain('\r\nRetry-After: 3');
    expect(calls[0]?.close).toBe(true);
    expect(calls[0]?.body).toContain('"request_id":"req_7"');
  });

  test('The problem for a body that is too large contains the limit', () => {
    expect(bodyTooLarge(65_536)).toMatchObject({ status: 413, code: 'body_too_large' });
    expect(bodyTooLarge(65_536).detail).toContain('65536');
  });
});
