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
  readonly stopping: () => boolean;
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

/** Source: open points, section 6: 200 also when degraded. 503 only while the service stops, so that balancers look elsewhere. */
function sendReady(parts: HealthParts, exchange: Exchange): void {
  const stopping = parts.stopping();
  const { name, detail } = parts.transport();
  sendJson(exchange, stopping ? 503 : 200, {
    status: stopping ? 'stopping' : parts.degraded() ? 'degraded' : 'ok',
    transport: name,
    ...(detail !== '' && { transport_detail: detail }),
    version: parts.version,
    node: process.versions.node,
    layers: parts.layers(),
  });
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
