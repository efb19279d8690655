import { isOfDashboard, rolesNeededBy } from '../contract/endpoint-roles.ts';
import { NODE_ROLES, type NodeRole } from '../contract/node-roles.ts';
import { problem } from '../contract/problem.ts';
import { type DashboardEndpointId, type EndpointId, ROUTES } from '../contract/routes.ts';
import type { Exchange, Handler } from '../http/exchange.ts';
import type { Handlers } from '../http/handlers.ts';
import { sendProblem } from '../http/reply.ts';

/** The roles of this node: what it wires, and how it answers for what it does not. */

/** What the handler of a refused request needs. */
interface Refusals {
  readonly onRefused: (code: string) => void;
  /** Returns the header fields about the rate limit. */
  readonly fieldsOf: (exchange: Exchange) => string;
}

/** Returns the named roles in their own order; null if the text names an unknown role, one twice, or none. */
export function readRoles(text: string): readonly NodeRole[] | null {
  const names = text.split(',').map((name) => name.trim());
  const roles = NODE_ROLES.filter((role) => names.includes(role));
  return roles.length === names.length ? roles : null;
}

export function hasRole(roles: readonly NodeRole[], ...some: readonly NodeRole[]): boolean {
  return some.some((role) => roles.includes(role));
}

/** Returns what `open` returns if this node has one of `some`, else null: nothing of that role is started. */
export function forRoles<T>(roles: readonly NodeRole[], some: readonly NodeRole[], open: () => T): T | null {
  return hasRole(roles, ...some) ? open() : null;
}

/** Endpoints that exist without a dashboard. */
type ServiceEndpointId = Exclude<EndpointId, DashboardEndpointId>;

/**
 * Returns a handler for every endpoint, except those of the dashboard itself: the given one if this node has all roles that the endpoint
 * needs, else one that responds with `role_not_served`. Throws if a handler is missing for an endpoint of this node's roles.
 */
export function handlersOf(
  roles: readonly NodeRole[],
  given: Partial<Handlers>,
  refusals: Refusals,
): Handlers<ServiceEndpointId> {
  const ids = (Object.keys(ROUTES) as EndpointId[]).filter((id) => !isOfDashboard(id));
  return Object.fromEntries(
    ids.map((id) => {
      const lacking = rolesNeededBy(id).filter((role) => !roles.includes(role));
      const handler = lacking.length > 0 ? notServed(lacking, refusals) : given[id];
      if (handler === undefined) throw new Error(`the endpoint ${id} has no handler`);
      return [id, handler];
    }),
  ) as Record<ServiceEndpointId, Handler>;
}

/** Returns a handler that answers that the node does not have these roles. */
export function notServed(lacking: readonly NodeRole[], { onRefused, fieldsOf }: Refusals): Handler {
  const text = lacking.length === 1 ? `the role ${lacking.join('')}` : `the roles ${lacking.join(' and ')}`;
  const fault = problem('role_not_served', `This node does not have ${text}.`);
  return (head, exchange) => {
    onRefused(fault.code);
    // Nobody reads the body, which would be parsed as the next request.
    sendProblem(exchange, fault, { close: head.contentLength > 0, more: fieldsOf(exchange) });
  };
}

/** Returns the sentences of the start's line about work that this node stores but does not process; empty if there is none. */
export function undoneWork(roles: readonly NodeRole[]): string {
  const parts = [
    ...(hasRole(roles, 'deliver') ? [] : ['webhook deliveries wait until a server with the role deliver runs']),
    ...(hasRole(roles, 'extract') ? [] : ['extraction jobs wait until a server with the role extract runs']),
  ];
  return parts.join('; ');
}
