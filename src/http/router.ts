import type { Exchange, Handler, PathParams, RequestHead, Route } from '../base/exchange.ts';
import { problem, type Problem } from '../base/problem.ts';
import { bodyTooLarge, sendProblem } from '../base/reply.ts';

/** Routes → one handler. Refuses with 404, 405 and what the gate found, in the order of open points, section 1. */
export function createRouter(routes: readonly Route[], onRefused: (code: string) => void): Handler {
  const byPath = new Map(routes.filter(isExact).map((route) => [route.path, route]));
  const patterns = routes.filter((route) => !isExact(route)).map(compile);
  return (head, exchange) => {
    const route = byPath.get(head.path);
    if (route !== undefined) answer(route, head, exchange);
    else {
      // Behind the exact paths, so that the decide path pays nothing for these.
      const found = match(patterns, head.path);
      if (found === null) refuse(problem('not_found', 'There is nothing at this path.'), head, exchange);
      else answer(found.route, { ...head, params: found.params }, exchange);
    }
  };

  function answer(route: Route, head: RequestHead, exchange: Exchange): void {
    // HEAD is GET whose body the transport leaves out.
    const method = head.method === 'HEAD' ? 'GET' : head.method;
    const handler = Object.hasOwn(route.methods, method) ? route.methods[method] : undefined;
    if (handler === undefined) {
      const allow = `\r\nAllow: ${methodsOf(route).join(', ')}`;
      refuse(problem('method_not_allowed', 'This path does not take this method.'), head, exchange, route, allow);
      return;
    }
    const fault = head.lengthFault ?? bodyFault(head, route) ?? head.formFault;
    if (fault === null) handler(head, exchange);
    else refuse(fault, head, exchange, route);
  }

  function refuse(fault: Problem, head: RequestHead, exchange: Exchange, route?: Route, allow = ''): void {
    onRefused(fault.code);
    // What the gate refuses may have been read differently by something in between, and a body that nobody will read stands
    // in the way of the next request: in both cases the connection ends.
    const close = head.contentLength > 0 || head.lengthFault !== null || head.formFault !== null;
    sendProblem(exchange, fault, { more: allow + (route?.refusalFields?.(exchange) ?? ''), close });
  }
}

function isExact({ path }: Route): boolean {
  return !path.includes('{');
}

function methodsOf({ methods }: Route): readonly string[] {
  return Object.keys(methods).flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
}

function bodyFault(head: RequestHead, route: Route): Problem | null {
  return head.contentLength > route.bodyBytesMax ? bodyTooLarge(route.bodyBytesMax) : null;
}

/** A path with names in it: for each segment either its text or the name of what stands there. */
interface Pattern {
  readonly route: Route;
  readonly segments: readonly { readonly text: string; readonly name: string | null }[];
}

function compile(route: Route): Pattern {
  const segments = route.path.split('/').map((text) => ({ text, name: /^\{(\w+)\}$/.exec(text)?.[1] ?? null }));
  return { route, segments };
}

function match(patterns: readonly Pattern[], path: string): { route: Route; params: PathParams } | null {
  const parts = path.split('/');
  for (const { route, segments } of patterns) {
    const params = parts.length === segments.length ? paramsOf(segments, parts) : null;
    if (params !== null) return { route, params };
  }
  return null;
}

/** The first pattern that fits is taken. A value that is empty or decodes to nothing sensible fits none. */
function paramsOf(segments: Pattern['segments'], parts: readonly string[]): PathParams | null {
  const params: Record<string, string> = {};
  for (const [i, { text, name }] of segments.entries()) {
    const part = parts[i] ?? '';
    if (name === null) {
      if (part !== text) return null;
      continue;
    }
    const value = decode(part);
    if (value === null || value === '') return null;
    params[name] = value;
  }
  return params;
}

/** Percent-decoded once; null where that is malformed. */
function decode(part: string): string | null {
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
