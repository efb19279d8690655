import { newId } from '../kernel/ids.ts';
import { problem, problemBody, type Problem } from '../contract/problem.ts';
import type { Exchange, HeaderFields } from './exchange.ts';

export const JSON_FIELDS: HeaderFields = 'application/json\r\nCache-Control: no-store';
const PROBLEM_FIELDS: HeaderFields = 'application/problem+json\r\nCache-Control: no-store';

export function sendJson(exchange: Exchange, status: number, body: unknown): void {
  exchange.send(status, JSON_FIELDS, JSON.stringify(body));
}

/** Sends a problem in the RFC 9457 format. `more` contains further header lines, each beginning with CRLF. */
export function sendProblem(
  exchange: Exchange,
  fault: Problem,
  options: { readonly requestId?: string; readonly more?: string; readonly close?: boolean } = {},
): void {
  const requestId = options.requestId ?? newId('req', Date.now());
  const retry = fault.retryAfterSeconds === undefined ? '' : `\r\nRetry-After: ${fault.retryAfterSeconds}`;
  exchange.send(
    fault.status,
    PROBLEM_FIELDS + retry + (options.more ?? ''),
    problemBody(fault, requestId),
    options.close ?? false,
  );
}

export function bodyTooLarge(bytesMax: number): Problem {
  return problem('body_too_large', `The body is limited to ${bytesMax} bytes.`);
}
