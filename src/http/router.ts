import type { Exchange, Handler, RequestHead, Route } from '../base/exchange.ts';
import { problem, type Problem } from '../base/problem.ts';
import { bodyTooLarge, sendProblem } from '../base/reply.ts';

/** Routes → one handler. Refuses with 404, 405 and what the gate found, in the order of open points, section 1. */
export function createRouter(routes: readonly Route[], onRefused: (code: string) => void): Handler {
  const byPath = new Map(routes.map((route) => [route.path, route]));
  return (head, exchange) => {
    const route = byPath.get(head.path);
    if (route === undefined) {
      refuse(problem('not_found', 'There is nothing at this path.'), head, exchange);
      return;
    }
    const handler = Object.hasOwn(route.methods, head.method) ? route.methods[head.method] : undefined;
    if (handler === undefined) {
      const allow = `\r\nAllow: ${Object.keys(route.methods).join(', ')}`;
      refuse(problem('method_not_allowed', 'This path does not take this method.'), head, exchange, route, allow);
      return;
    }
    const fault = head.lengthFault ?? bodyFault(head, route) ?? head.formFault;
    if (fault === null) handler(head, exchange);
    else refuse(fault, head, exchange, route);
  };

  function refuse(fault: Problem, head: RequestHead, exchange: Exchange, route?: Route, allow = ''): void {
    onRefused(fault.code);
    // What the gate refuses may have been read differently by something in between, and a body that nobody will read stands
    // in the way of the next request: in both cases the connection ends.
    const close = head.contentLength > 0 || head.lengthFault !== null || head.formFault !== null;
    sendProblem(exchange, fault, { more: allow + (route?.refusalFields?.(exchange) ?? ''), close });
  }
}

function bodyFault(head: RequestHead, route: Route): Problem | null {
  return head.contentLength > route.bodyBytesMax ? bodyTooLarge(route.bodyBytesMax) : null;
}
