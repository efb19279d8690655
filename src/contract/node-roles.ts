import { type DashboardEndpointId, type EndpointId, ROUTES } from './routes.ts';

/**
 * What a node does. `decide`: decisions and their outcomes. `api`: every other endpoint for customers. `deliver`: sends webhook
 * deliveries. `extract`: runs extraction jobs. Source: contract, 15.7.
 */
export const NODE_ROLES = ['decide', 'api', 'deliver', 'extract'] as const;
export type NodeRole = (typeof NODE_ROLES)[number];

const OF_EVERY_NODE: readonly NodeRole[] = [];
const API: readonly NodeRole[] = ['api'];

/** Endpoints whose roles do not follow from who may call them. */
const NAMED: Partial<Readonly<Record<EndpointId, readonly NodeRole[]>>> = {
  decide: ['decide'],
  reportOutcomes: ['decide'],
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
