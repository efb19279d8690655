import type { Handler } from '../base/exchange.ts';
import { problem } from '../base/problem.ts';
import { sendJson, sendProblem } from '../base/reply.ts';

/**
 * Answers while the service starts: the process lives, it is not ready, and everything else is to be sent again in a second.
 * Choice: 429 `overloaded`, because decide has no 503. Nothing was read, so the same request id may be used again.
 */
export function startingHandler(version: string): Handler {
  return (head, exchange) => {
    if (head.method === 'GET' && head.path === '/healthz') sendJson(exchange, 200, { status: 'ok' });
    else if (head.method === 'GET' && head.path === '/readyz') {
      sendJson(exchange, 503, { status: 'starting', version, node: process.versions.node });
    } else {
      const fault = problem('overloaded', 'The service is starting.', { retryAfterSeconds: 1 });
      sendProblem(exchange, fault, { close: true });
    }
  };
}
