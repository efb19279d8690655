import { DASHBOARD_PATH, onlyDashboard } from '../api/dashboard/dashboard-site.ts';
import { OwnPolicies } from '../api/own-policies.ts';
import { simulateHandlers } from '../api/simulate-handlers.ts';
import type { EndpointFactory } from '../api/kit/endpoint-factory.ts';
import { problem } from '../contract/problem.ts';
import type { DecideObserver } from '../decide/observer.ts';
import type { DecidePipeline } from '../decide/pipeline.ts';
import type { WarmUpResult } from '../decide/warm-up.ts';
import { bindRoutes } from '../http/bind.ts';
import { Cors } from '../http/cors.ts';
import type { Handler } from '../http/exchange.ts';
import type { Handlers } from '../http/handlers.ts';
import { sendProblem } from '../http/reply.ts';
import { createRouter } from '../http/router.ts';
import type { TransportOptions } from '../http/transport.ts';
import { sightingsTaken } from '../risk/registry/sighting-conditions.ts';
import { FingerprintLookup } from '../velocity/fingerprint-lookup.ts';
import { isDegraded, stateNames } from './asset-states.ts';
import { forRoles, handlersOf, hasRole, notServed } from './roles.ts';
import type { ServiceParts } from './service-parts.ts';
import { docsSites, rootRoute } from './wire-docs.ts';
import { wireDashboard } from './wire-dashboard.ts';
import { wireApi } from './wire-api.ts';
import { type DecideRole, wireDecide } from './wire-decide.ts';
import { openEndpoints, openShared, outcomesOf, type SharedParts } from './wire-endpoints.ts';
import { wireCollector } from './wire-collector.ts';
import { wireGate } from './wire-gate.ts';
import { wireOperation } from './wire-operation.ts';

/** All request handlers. */
export interface Service {
  readonly onRequest: Handler;
  /** For the dashboard's own listener; null if there is none. */
  readonly onDashboardRequest: Handler | null;
  readonly onCrash: TransportOptions['onCrash'];
  /** Null on a node that does not decide. */
  readonly decide: DecidePipeline | null;
  readonly decideObserver: DecideObserver | null;
  readonly endpoint: EndpointFactory;
  /** Fields for the log line of a start. */
  summary(): Readonly<Record<string, unknown>>;
  /** Compiles the decide path with synthetic requests. Until it is done, `/readyz` reports `starting`. */
  warmUp(): Promise<WarmUpResult | null>;
  /** Makes `/readyz` report from now on that the service is stopping. */
  stopping(): void;
  /** Ends the thread that parses large bodies. */
  close(): Promise<void>;
}

/**
 * Wires the roles that answer requests. Webhooks and extraction, which work after the response, are wired before. An endpoint of a role
 * that this node does not have answers that it has not.
 */
export function createService(parts: ServiceParts): Service {
  const { keyCache, log } = parts;
  const shared = openShared();
  const { onRefused } = shared;
  const endpoints = openEndpoints(parts, shared);
  const { endpoint } = endpoints;
  const decideRole = parts.deciding && wireDecide(parts, parts.deciding, shared);
  const gate = decideRole && parts.policies && wireGate(parts, parts.policies, decideRole.decide, shared);
  const operation = wireOperation(parts, decideRole, shared.counts, gate === null ? [] : [gate.reading]);
  const given = {
    ...gate?.handlers,
    ...handlersByRole(parts, endpoint, decideRole),
    ...operation.handlers,
    ...collectorOf(parts, shared),
  };
  const handlers = handlersOf(parts.settings.roles, given, { onRefused, fieldsOf: endpoint.refusalFields });
  const dashboard =
    parts.dashboard &&
    wireDashboard(parts, parts.dashboard, { failures: shared.failures, handlers, endpoint, onRefused });
  const isPublic = dashboard !== null && parts.dashboardListener === null;
  const lacksApi = !hasRole(parts.settings.roles, 'api');
  const sites = [
    ...(isPublic ? [{ path: DASHBOARD_PATH, handler: dashboard }] : []),
    ...(lacksApi ? [{ path: DASHBOARD_PATH, handler: notServed(['api'], { onRefused, fieldsOf: () => '' }) }] : []),
    ...docsSites(parts.settings, { onRefused, log }),
  ];
  const routes = [
    ...bindRoutes(handlers, endpoint.refusalFields, new Cors(keyCache, onRefused)),
    rootRoute(parts.settings, isPublic),
  ];
  return {
    decide: decideRole?.decide ?? null,
    decideObserver: decideRole?.observer ?? null,
    endpoint,
    onRequest: createRouter(routes, onRefused, sites),
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
      const warmed = (await decideRole?.warmUp()) ?? null;
      operation.warmed();
      return warmed;
    },
    stopping: () => operation.stopping(),
    close: () => endpoints.close(),
  };
}

/** The collector belongs to the role `decide`. */
function collectorOf(parts: ServiceParts, shared: SharedParts): Partial<Handlers> {
  return forRoles(parts.settings.roles, ['decide'], () => wireCollector(parts, shared)) ?? {};
}

/** Returns the handlers of the roles of this node. The compiler reports every endpoint of a role without a handler. */
function handlersByRole(
  parts: ServiceParts,
  endpoint: EndpointFactory,
  decideRole: DecideRole | null,
): Partial<Handlers> {
  const { settings, installation, velocity, policies: opened } = parts;
  if (velocity === null || opened === null) return {};
  const { store } = installation;
  const policies = new OwnPolicies(opened.policyArchive, (customer) => store.customers.find(customer)?.id ?? '');
  const fingerprints = new FingerprintLookup(velocity.memory);
  store.sightingReports.takeOnly(sightingsTaken(fingerprints));
  if (decideRole !== null) store.turns.giveWayTo(() => decideRole.decide.load(performance.now()));
  return {
    ...(decideRole && { decide: decideRole.decide.route.methods.POST, ...outcomesOf(parts, velocity, endpoint) }),
    ...forRoles(settings.roles, ['api'], () => wireApi(parts, endpoint, { ...opened, fingerprints, policies })),
    ...(decideRole && simulateHandlers(endpoint, { simulator: decideRole.simulator, policies })),
  };
}
