import { timingSafeEqual, hash } from 'node:crypto';
import type { Exchange, Handler, RequestHead } from '../http/exchange.ts';
import type { NodeRole } from '../contract/node-roles.ts';
import { problem } from '../contract/problem.ts';
import { sendJson, sendProblem } from '../http/reply.ts';
import type { Handlers } from '../http/handlers.ts';
import { readIp } from '../risk/signals/ip.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { AssetStatus } from '../assets/asset-messages.ts';

/** Dependencies of the operator endpoints. */
export interface OperationParts {
  readonly version: string;
  /** What this node does. */
  readonly roles: readonly NodeRole[];
  readonly transport: () => { readonly name: string; readonly detail: string };
  /** The status of every layer: hot-reloaded files, the store, and the other parts of the service. */
  readonly layers: () => Readonly<Record<string, AssetStatus>>;
  /** The data feeds by name; null on a node that does not decide. */
  readonly data: () => object | null;
  /** Returns whether a configured layer cannot run. */
  readonly degraded: () => boolean;
  /** Returns true until the decide path is warmed up. */
  readonly starting: () => boolean;
  readonly stopping: () => boolean;
  /** Returns whether no decision can be accepted. */
  readonly closed: () => boolean;
  /** Sends the OpenAPI document. */
  readonly openApi: Handler;
  readonly metrics: Metrics;
  readonly metricsToken: string | null;
  readonly log: Log;
}

/** Returns the handlers of the operator endpoints. */
export function operationHandlers(parts: OperationParts): Handlers<'health' | 'readiness' | 'openApi' | 'metrics'> {
  return {
    health: ({ query }, exchange) => {
      // For `gatehouse doctor`: a caller learns nothing but its own address.
      const source = query === 'source=1' && { source_address: exchange.remoteAddress() };
      sendJson(exchange, 200, { status: 'ok', ...source });
    },
    readiness: (_head, exchange) => sendReady(parts, exchange),
    openApi: parts.openApi,
    metrics: (head, exchange) => sendMetrics(parts, head, exchange),
  };
}

/**
 * Responds 200 also when degraded. Responds 503 while the service starts, stops or accepts no decision, so that load balancers choose
 * another instance.
 */
function sendReady(parts: OperationParts, exchange: Exchange): void {
  const status = statusOf(parts);
  const { name, detail } = parts.transport();
  const data = parts.data();
  sendJson(exchange, status === 'ok' || status === 'degraded' ? 200 : 503, {
    status,
    transport: name,
    ...(detail !== '' && { transport_detail: detail }),
    version: parts.version,
    node: process.versions.node,
    roles: parts.roles,
    layers: parts.layers(),
    ...(data !== null && { data }),
  });
}

function statusOf(parts: OperationParts): 'starting' | 'ok' | 'degraded' | 'unavailable' | 'stopping' {
  if (parts.stopping()) return 'stopping';
  if (parts.starting()) return 'starting';
  if (parts.closed()) return 'unavailable';
  return parts.degraded() ? 'degraded' : 'ok';
}

/** Requires the metrics token if one is configured, else a loopback address. */
function sendMetrics(parts: OperationParts, head: RequestHead, exchange: Exchange): void {
  if (!mayScrape(parts.metricsToken, head, exchange)) {
    const detail =
      parts.metricsToken === null
        ? 'Without GATEHOUSE_METRICS_TOKEN, metrics are served to loopback addresses only, under the name localhost or an address.'
        : 'Metrics need the token as "Authorization: Bearer ...".';
    sendProblem(exchange, problem('missing_credentials', detail), { more: '\r\nWWW-Authenticate: Bearer' });
    return;
  }
  parts.metrics.text().then(
    (text) => exchange.send(200, `${parts.metrics.contentType}\r\nCache-Control: no-store`, text),
    (error: unknown) => {
      parts.log.error({ err: error }, 'metrics could not be collected');
      sendProblem(exchange, problem('internal_error', 'Metrics could not be collected.'));
    },
  );
}

/** Host of a request that names this machine: localhost, or one of its loopback addresses. */
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/**
 * Without a token, a page of another site in a browser of this machine could read the metrics by giving its own name a loopback address
 * (DNS rebinding); its requests then have that name in Host.
 */
function mayScrape(token: string | null, { authorization, host }: RequestHead, exchange: Exchange): boolean {
  if (token === null) {
    const peer = readIp(exchange.remoteAddress());
    return peer.kind === 'valid' && (peer.text.startsWith('127.') || peer.text === '::1') && LOOPBACK_HOST.test(host);
  }
  // Hashes have a fixed length, so the comparison does not leak the token's length.
  const given = hash('sha256', authorization, 'buffer');
  return timingSafeEqual(given, hash('sha256', `Bearer ${token}`, 'buffer'));
}
