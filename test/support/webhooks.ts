import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Decision } from '../../src/risk/decision.ts';
import { bearer, fingerprintOf } from './manage.ts';
import { decide, newcomer, type Answer } from './requests.ts';
import { startServer, type RunningServer } from './server.ts';

/** A server that may deliver to this machine, receivers on it, and decisions of every value. */

export const MASKED_SECRET = /^whsec_\*{16}.{4}$/;
export const WHOLE_SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;
/** Well-formed ids that do not exist. */
export const NOBODYS_WEBHOOK = 'wh_01KAJ8Q5W0V4T0M2Y8Z3N6R7DC';
export const NOBODYS_DELIVERY = 'dlv_01KAJ8Q5W0V4T0M2Y8Z3N6R7DC';

export function startDeliveringServer(env: Readonly<Record<string, string>> = {}): Promise<RunningServer> {
  return startServer({ env: { GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8', ...env } });
}

/** One request received by a receiver. */
export interface Arrival {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly atMs: number;
}

export interface Receiver {
  readonly url: string;
  readonly arrivals: readonly Arrival[];
  /** Sets the statuses of the next responses, in order; the last one is permanent. Redirects lead back to the receiver. */
  answers(...statuses: readonly number[]): void;
  /** Resolves when `count` requests have arrived in total. */
  arrived(count: number): Promise<readonly Arrival[]>;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const arrivals: Arrival[] = [];
  let statuses: readonly number[] = [200];
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const { method = '', url: path = '', headers } = req;
      arrivals.push({ method, path, headers, body: Buffer.concat(chunks), atMs: Date.now() });
      const status = statuses[0] ?? 200;
      if (statuses.length > 1) statuses = statuses.slice(1);
      res.writeHead(status, status >= 300 && status < 400 ? { location: '/elsewhere' } : {}).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/events`,
    arrivals,
    answers: (...next) => void (statuses = next),
    arrived: (count) =>
      eventually(`${count} requests at the receiver`, () =>
        Promise.resolve(arrivals.length >= count ? arrivals : null),
      ),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Shortest and longest time between two polls. */
const POLL_MS = 20;
const POLL_MS_MAX = 250;

/**
 * Polls until there is a result. The time between two polls grows to a tenth of the time waited so far: most polls are requests, which
 * would otherwise be a large part of the processor time of long waits.
 */
export async function eventually<T>(what: string, ask: () => Promise<T | null>, msMax = 60_000): Promise<T> {
  const sinceMs = performance.now();
  for (;;) {
    const found = await ask();
    if (found !== null) return found;
    const waitedMs = performance.now() - sinceMs;
    if (waitedMs > msMax) throw new Error(`timed out after ${msMax} ms waiting for ${what}`);
    await new Promise((done) => setTimeout(done, Math.min(Math.max(POLL_MS, waitedMs / 10), POLL_MS_MAX)));
  }
}

/** API client of one customer for webhooks; throws on error responses. */
export function webhookClient(url: string, key: string) {
  const ask = async (method: string, path: string, body?: unknown): Promise<Record<string, unknown>> => {
    const answer = await bearer(url, key, method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path} returned ${answer.status}: ${answer.text}`);
    return answer.json;
  };
  const create = async (target: string, ...eventTypes: readonly Decision[]): Promise<{ id: string; secret: string }> =>
    (await ask('POST', '/v1/webhooks', { url: target, event_types: eventTypes })) as { id: string; secret: string };
  const deliveries = async (query = ''): Promise<readonly DeliveryRow[]> =>
    (await ask('GET', `/v1/webhooks/deliveries${query}`))['data'] as DeliveryRow[];
  /** Returns the only delivery that matches a query, when it has ended. */
  const ended = (query: string): Promise<DeliveryRow> =>
    eventually(`the end of the delivery ${query}`, async () => {
      const [row] = await deliveries(query);
      return row === undefined || row.status === 'pending' ? null : row;
    });
  return { ask, create, deliveries, ended };
}

export interface DeliveryRow {
  readonly id: string;
  readonly webhook_id: string | null;
  readonly event: string;
  readonly request_id: string;
  readonly status: string;
  readonly trigger: string;
  readonly attempt_count: number;
  readonly last_status_code: number | null;
  readonly last_error: string | null;
  readonly created_at: number;
  readonly completed_at: number | null;
  readonly attempts: readonly {
    readonly attempt: number;
    readonly status_code: number | null;
    readonly error: string | null;
  }[];
}

const HEADLESS =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/139.0.0.0 Safari/537.36';
const BLOCKED_TOKEN = 'a-session-on-the-block-list';

/** Requests that lead to each decision. `blockOnList` must be called before a BLOCK. */
const BODIES: Readonly<Record<Decision, () => object>> = {
  ALLOW: newcomer,
  ALLOW_WATCH: () => ({
    ...newcomer(),
    ip: '10.0.0.1',
    entity_keys: { email: 'xq7rk2vw9zt4@mail.example' },
    headers: { accept: '*/*' },
  }),
  SOFT_CHALLENGE: () => ({ ...newcomer(), session_token: '' }),
  REVIEW: () => ({ ...newcomer(), user_agent: HEADLESS, event_type: 'checkout' }),
  BLOCK: () => ({ ...newcomer(), session_token: BLOCKED_TOKEN }),
};

export async function blockOnList(url: string, key: string): Promise<void> {
  const entry = { fingerprint_hash: fingerprintOf(BLOCKED_TOKEN), action: 'block' };
  const { status } = await bearer(url, key, 'POST', '/v1/lists', entry);
  if (status >= 300) throw new Error(`the list answered ${status}`);
}

/** Makes a decision with the given value; throws on any other. */
export async function decideTo(url: string, key: string, value: Decision): Promise<Answer> {
  const answer = await decide(url, key, BODIES[value]());
  if (answer.json['decision'] !== value) throw new Error(`the decision is not ${value}: ${answer.text}`);
  return answer;
}
