import { DASHBOARD_PATH, onlyDashboard } from '../api/dashboard/dashboard-site.ts';
import type { EndpointFactory } from '../api/kit/endpoint-factory.ts';
import { problem } from '../contract/problem.ts';
import type { DashboardEndpointId, EndpointId } from '../contract/routes.ts';
import type { DecidePipeline } from '../decide/pipeline.ts';
import type { WarmUpResult } from '../decide/warm-up.ts';
import { bindRoutes } from '../http/bind.ts';
import { Cors } from '../http/cors.ts';
import type { Handler } from '../http/exchange.ts';
import type { Handlers } from '../http/handlers.ts';
import { sendProblem } from '../http/reply.ts';
import { createRouter } from '../http/router.ts';
import type { TransportOptions } from '../http/transport.ts';
import { isDegraded, stateNames } from './asset-states.ts';
import type { ServiceParts } from './service-parts.ts';
import { wireDashboard } from './wire-dashboard.ts';
import { wireApi } from './wire-api.ts';
import { wireDecide } from './wire-decide.ts';
import { wireOperation } from './wire-operation.ts';

/** All request handlers. */
export interface Service {
  readonly onRequest: Handler;
  /** For the dashboard's own listener; null if there is none. */
  readonly onDashboardRequest: Handler | null;
  readonly onCrash: TransportOptions['onCrash'];
  readonly decide: DecidePipeline;
  readonly endpoint: EndpointFactory;
  /** Fields for the log line of a start. */
  summary(): Readonly<Record<string, unknown>>;
  /** Compiles the decide path with synthetic requests. Until it is done, `/readyz` reports `starting`. */
  warmUp(): Promise<WarmUpResult>;
  /** Makes `/readyz` report from now on that the service is stopping. */
  stopping(): void;
  /** Ends the thread that parses large bodies. */
  close(): Promise<void>;
}

/** Wires the roles that answer requests. Webhooks and extraction, which work after the response, are wired before. */
export function createService(parts: ServiceParts): Service {
  const { keyCache, log } = parts;
  const decideRole = wireDecide(parts);
  const { decide, counts } = decideRole;
  const onRefused = (code: string): void => counts.refused(code);
  const api = wireApi(parts, decideRole, onRefused);
  const operation = wireOperation(parts, decideRole);
  // The compiler reports every endpoint without a handler.
  const handlers: Handlers<Exclude<EndpointId, DashboardEndpointId>> = {
    decide: decide.route.methods.POST,
    ...api.handlers,
    ...operation.handlers,
  };
  const { endpoint } = api;
  const dashboard =
    parts.dashboard === null
      ? null
      : wireDashboard(parts, parts.dashboard, { decide: decideRole, api, operation, onRefused });
  const isPublic = dashboard !== null && parts.dashboardListener === null;
  const routes = bindRoutes(handlers, endpoint.refusalFields, new Cors(keyCache, onRefused));
  return {
    decide,
    endpoint,
    onRequest: createRouter(routes, onRefused, isPublic ? { path: DASHBOARD_PATH, handler: dashboard } : null),
    onDashboardRequest: dashboard === null || isPublic ? null : onlyDashboard(dashboard, onRefused),
    onCrash(error, exchange) {
      log.error({ err: error }, 'a request failed');
      onRefused('internal_error');
      const more = endpoint.refusalFields(exchange);
      sendProblem(exchange, problem('internal_error', 'The request failed.'), { close: true, more });
    },
    summary() {
      const states = operation.assetStates();
      return { degraded: isDegraded(states), layers: stateNames(states) };
    },
    async warmUp() {
      const warmed = await decideRole.warmUp();
      operation.warmed();
      return warmed;
    },
    stopping: () => operation.stopping(),
    close: () => api.close(),
  };
}
