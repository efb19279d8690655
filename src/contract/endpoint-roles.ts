import type { NodeRole } from './node-roles.ts';
import { type DashboardEndpointId, type EndpointId, ROUTES } from './routes.ts';

const OF_EVERY_NODE: readonly NodeRole[] = [];
const API: readonly NodeRole[] = ['api'];

/** Endpoints whose roles do not follow from who may call them. */
const NAMED: Partial<Readonly<Record<EndpointId, readonly NodeRole[]>>> = {
  decide: ['decide'],
  askGate: ['decide'],
  postToGate: ['decide'],
  reportOutcomes: ['decide'],
  collectorScript: ['decide'],
  collectorModule: ['decide'],
  collectorVersion: ['decide'],
  issueGrant: ['decide'],
  // The score workers make the decision.
  simulateDecision: ['api', 'decide'],
  // The caller waits until the delivery has been sent.
  testWebhook: ['api', 'deliver'],
};

/** Endpoints that every dashboard has, and that are served where it is. */
export function isOfDashboard(id: EndpointId): id is DashboardEndpointId {
  return ROUTES[id].access === 'sign_in' || ROUTES[id].access === 'session';
}

/** Returns the roles that a node needs, all of them, to serve the endpoint; none for the endpoints of operators. */
export function rolesNeededBy(id: Exclude<EndpointId, DashboardEndpointId>): readonly NodeRole[] {
  return NAMED[id] ?? (ROUTES[id].access === 'secret' ? API : OF_EVERY_NODE);
}
