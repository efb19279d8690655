import { timingSafeEqual, hash } from 'node:crypto';
import type { Exchange, RequestHead, Route } from '../base/exchange.ts';
import { problem } from '../base/problem.ts';
import { sendJson, sendProblem } from '../base/reply.ts';
import { readIp } from '../core/ip.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { LayerStatus } from '../pools/layer-messages.ts';

export interface HealthParts {
  readonly version: string;
  readonly transport: () => { readonly name: string; readonly detail: string };
  /** Every layer, the store included. */
  readonly layers: () => Readonly<Record<string, LayerStatus>>;
  /** Whether a layer that is set up cannot run. */
  readonly degraded: () => boolean;
  /** The decide path is not warmed up yet. */
  readonly starting: () => boolean;
  readonly stopping: () => boolean;
  /** Whether no decision can be accepted. */
  readonly closed: () => boolean;
  readonly metrics: Metrics;
  readonly metricsToken: string | null;
  readonly log: Log;
}

/** /healthz says that the process lives, /readyz what runs and why something does not, /metrics is Prometheus' text. */
export function healthRoutes(parts: HealthParts): Route[] {
  return [
    {
      path: '/healthz',
      bodyBytesMax: 0,
      methods: { GET: (_head, exchange) => sendJson(exchange, 200, { status: 'ok' }) },
    },
    { path: '/readyz', bodyBytesMax: 0, methods: { GET: (_head, exchange) => sendReady(parts, exchange) } },
    { path: '/metrics', bodyBytesMax: 0, methods: { GET: (head, exchange) => sendMetrics(parts, head, exchange) } },
  ];
}

/** 200 also when degraded. 503 while the service starts, stops or accepts no decision, so that load balancers choose another instance. */
function sendReady(parts: HealthParts, exchange: Exchange): void {
  const status = statusOf(parts);
  const { name, detail } = parts.transport();
  sendJson(exchange, status === 'ok' || status === 'degraded' ? 200 : 503, {
    status,
    transport: name,
    ...(detail !== '' && { transport_detail: detail }),
    version: parts.version,
    node: process.versions.node,
    layers: parts.layers(),
  });
}

function statusOf(parts: HealthParts): 'starting' | 'ok' | 'degraded' | 'unavailable' | 'stopping' {
  if (parts.stopping()) return 'stopping';
  if (parts.starting()) return 'starting';
  if (parts.closed()) return 'unavailable';
  return parts.degraded() ? 'degraded' : 'ok';
}

/** With a token by that token, else from loopback only. */
function sendMetrics(parts: HealthParts, head: RequestHead, exchange: Exchange): void {
  if (!mayScrape(parts.metricsToken, head.authorization, exchange)) {
    const detail =
      parts.metricsToken === null
        ? 'Without GATEHOUSE_METRICS_TOKEN, metrics are served to loopback addresses only.'
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

function mayScrape(token: string | null, authorization: string, exchange: Exchange): boolean {
  if (token === null) {
    const peer = readIp(exchange.remoteAddress());
    return peer.kind === 'valid' && (peer.text.startsWith('127.') || peer.text === '::1');
  }
  // Hashes have one length, so the comparison says nothing about the token's.
  const given = hash('sha256', authorization, 'buffer');
  return timingSafeEqual(given, hash('sha256', `Bearer ${token}`, 'buffer'));
}
