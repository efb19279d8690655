import type { Exchange, Handler, Route } from './exchange.ts';
import type { Handlers } from './handlers.ts';
import { type EndpointId, type RouteSpec, ROUTES } from '../contract/routes.ts';
import type { Cors } from './cors.ts';

interface BoundRoute extends Route {
  readonly methods: Record<string, Handler>;
  /** Methods that scripts of other origins may use. */
  readonly scripted: string[];
}

/**
 * Builds the routes from the handlers. Path, method and body limit come from the table of endpoints, and so does the order: if two paths
 * with parameters match, the earlier one is used. `refusalFields` returns the rate-limit fields of endpoints that need a key. Without
 * `cors`, no endpoint responds to OPTIONS.
 */
export function bindRoutes(
  handlers: Partial<Handlers>,
  refusalFields: (exchange: Exchange) => string,
  cors: Cors | null = null,
): Route[] {
  const routes = new Map<string, BoundRoute>();
  for (const id of Object.keys(ROUTES) as EndpointId[]) {
    const handler = handlers[id];
    if (handler === undefined) continue;
    const spec: RouteSpec = ROUTES[id];
    const route = routes.get(spec.path);
    const bodyBytesMax = Math.max(spec.bodyBytesMax, route?.bodyBytesMax ?? 0);
    routes.set(spec.path, {
      path: spec.path,
      methods: { ...route?.methods, [spec.method]: scopedHandler(handler, spec) },
      scripted: [...(route?.scripted ?? []), ...(spec.cors === true ? [spec.method] : [])],
      bodyBytesMax,
      ...(spec.access === 'gate' && { takesFaults: true }),
      ...(needsKey(spec) && { refusalFields }),
    });
  }
  return [...routes.values()].map((route) =>
    cors === null || route.scripted.length === 0 ? route : opened(route, cors),
  );
}

/** Returns the route with the preflight of its scripted methods. */
function opened({ scripted, ...route }: BoundRoute, cors: Cors): Route {
  const { onCrossOrigin } = cors;
  return { ...route, methods: { ...route.methods, OPTIONS: cors.preflight(scripted) }, onCrossOrigin };
}

/** Passes the scope that the endpoint needs to its handler. The path of decide is spared the copy: it knows its scope. */
function scopedHandler(handler: Handler, { access, scope }: RouteSpec): Handler {
  if (access !== 'secret' || scope === undefined) return handler;
  return (head, exchange) => handler({ ...head, scope }, exchange);
}

function needsKey({ access }: RouteSpec): boolean {
  return access !== 'none' && access !== 'metrics_token' && access !== 'gate';
}
