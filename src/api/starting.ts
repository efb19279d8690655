import type { Handler } from '../http/exchange.ts';
import { problem } from '../contract/problem.ts';
import { sendJson, sendProblem } from '../http/reply.ts';

/**
 * Responds while the service starts: `/healthz` gives 200, `/readyz` gives 503, and everything else gives 429 with Retry-After 1 s.
 * Choice: 429 `overloaded`, because decide has no 503. The request was not processed, so its request id may be used again.
 */
export function startingHandler(version: string): Handler {
  return (head, exchange) => {
    if (head.method === 'GET' && head.path === '/healthz') sendJson(exchange, 200, { status: 'ok' });
    else if (head.method === 'GET' && head.path === '/readyz') {
      sendJson(exchange, 503, { status: 'starting', version, node: process.versions.node });
    } else {
      const fault = problem('overloaded', 'The service is starting.', { retryAfterSeconds: 1, reason: 'starting' });
      sendProblem(exchange, fault, { close: true });
    }
  };
}
