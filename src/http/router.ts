import type { Exchange, Handler, PathParams, RequestHead, Route } from './exchange.ts';
import { problem, type Problem } from '../contract/problem.ts';
import { bodyTooLarge, sendProblem } from './reply.ts';

/** Handles its own path and every path below it. */
export interface Subtree {
  readonly path: string;
  readonly handler: Handler;
}

/**
 * Combines routes into one handler. Responds with 404, with 405, or with the error found by the header validation, in the order of
 * contract, 3.7.
 */
export function createRouter(
  routes: readonly Route[],
  onRefused: (code: string) => void,
  subtrees: readonly Subtree[] = [],
): Handler {
  const byPath = new Map(routes.filter(isExact).map((route) => [route.path, route]));
  const patterns = routes.filter((route) => !isExact(route)).map(compile);
  return (head, exchange) => {
    const route = byPath.get(head.path);
    if (route !== undefined) answer(route, head, exchange);
    // Tried after the exact paths, so that the decide path pays nothing for subtrees and patterns.
    else {
      const subtree = subtrees.find(({ path }) => isWithin(head.path, path));
      if (subtree !== undefined) {
        subtree.handler(head, exchange);
        return;
      }
      const found = match(patterns, head.path);
      if (found === null) refuse(problem('not_found', 'There is nothing at this path.'), head, exchange);
      else answer(found.route, { ...head, params: found.params }, exchange);
    }
  };

  function answer(route: Route, head: RequestHead, exchange: Exchange): void {
    if (route.onCrossOrigin !== undefined && head.cold.get('origin') !== '') route.onCrossOrigin(head, exchange);
    // HEAD is handled like GET; the transport omits the body.
    const method = head.method === 'HEAD' ? 'GET' : head.method;
    const handler = Object.hasOwn(route.methods, method) ? route.methods[method] : undefined;
    if (handler === undefined) {
      const allow = `\r\nAllow: ${methodsOf(route).join(', ')}`;
      refuse(problem('method_not_allowed', 'This path does not support this method.'), head, exchange, route, allow);
      return;
    }
    const fault = head.lengthFault ?? bodyFault(head, route) ?? head.formFault;
    if (fault === null || route.takesFaults === true) handler(head, exchange);
    else refuse(fault, head, exchange, route);
  }

  function refuse(fault: Problem, head: RequestHead, exchange: Exchange, route?: Route, allow = ''): void {
    onRefused(fault.code);
    // If the header validation rejects a request, an intermediary may have found other boundaries in it; and a body that nobody reads would
    // be parsed as the next request. In both cases the connection is closed.
    const close = head.contentLength > 0 || head.lengthFault !== null || head.formFault !== null;
    sendProblem(exchange, fault, { more: allow + (route?.refusalFields?.(exchange) ?? ''), close });
  }
}

function isWithin(path: string, root: string): boolean {
  return path.startsWith(root) && (path.length === root.length || path.charAt(root.length) === '/');
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

/** A path with parameters: each segment is either literal text or the name of a parameter. */
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

/**
 * Returns the parameters if the path matches the pattern, else null. The first pattern that matches wins. A value that is empty or
 * malformed matches none.
 */
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

/** Decodes percent-encoding once; null if it is malformed. */
function decode(part: string): string | null {
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
