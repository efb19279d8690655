import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { Exchange } from '../../../src/http/exchange.ts';
import { newId } from '../../../src/kernel/ids.ts';
import { type Delivery, type DeliveryId, type Webhook, type WebhookId } from '../../../src/work/webhook.ts';
import type { Journal } from '../../../src/decide/journal.ts';
import { KeyCache } from '../../../src/auth/key-cache.ts';
import { FailedAuthentications } from '../../../src/decide/failed-authentications.ts';
import { LocalAdmission } from '../../../src/local/local-admission.ts';
import { ReplayGuard } from '../../../src/local/replay-guard.ts';
import { egressPolicy } from '../../../src/egress/public-address.ts';
import { checkTarget } from '../../../src/egress/egress-target.ts';
import { bindRoutes } from '../../../src/http/bind.ts';
import { createRouter } from '../../../src/http/router.ts';
import { deliveryHandlers } from '../../../src/api/delivery-handlers.ts';
import { createEndpointFactory } from '../../../src/api/kit/endpoint-factory.ts';
import { Cursors } from '../../../src/api/kit/paging.ts';
import type { DeliveryReader, WebhookControl, WebhookReader } from '../../../src/api/webhook-control-port.ts';
import { webhookHandlers } from '../../../src/api/webhook-handlers.ts';
import { createLog } from '../../../src/observe/log.ts';
import { fakeClock, HEAD, NOW_SECONDS, PUBLIC_KEY, SECRET_KEY, storedKey } from '../decide/support.ts';
import { sendWhole } from '../../support/slices.ts';

export const NOW_MS = NOW_SECONDS * 1000;
/** A key of customer 8; `SECRET_KEY` belongs to customer 7. */
export const OTHER_KEY = `sk_live_${'C'.repeat(38)}`;
export const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
export const NEXT_SECRET = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;

export interface Sent {
  readonly status: number;
  readonly fields: string;
  readonly json: Record<string, unknown>;
}

export function webhook(changes: Partial<Webhook> = {}): Webhook {
  return {
    id: newId('wh', NOW_MS) as WebhookId,
    customer: 7 as CustomerNumber,
    url: 'https://shop.example/events',
    eventTypes: ['BLOCK'],
    description: null,
    disabled: false,
    health: {
      status: 'healthy',
      consecutiveFailures: 0,
      unhealthySinceMs: null,
      cooldownMs: 0,
      nextProbeAtMs: null,
      lastSuccessAtMs: null,
      lastFailureAtMs: null,
    },
    createdAtMs: NOW_MS,
    updatedAtMs: NOW_MS,
    ...changes,
  };
}

export function delivery(changes: Partial<Delivery> = {}): Delivery {
  return {
    id: newId('dlv', NOW_MS) as DeliveryId,
    customer: 7 as CustomerNumber,
    endpointId: newId('wh', NOW_MS),
    url: 'https://shop.example/events',
    event: 'BLOCK',
    requestId: newId('req', NOW_MS),
    status: 'succeeded',
    trigger: 'decision',
    attempts: [],
    error: null,
    elapsedMs: 0,
    createdAtMs: NOW_MS,
    completedAtMs: null,
    nextAttemptAtMs: null,
    body: Buffer.from('{}'),
    ...changes,
  };
}

/** Replaces the sender, which is not under test: the test sets each of its results, and each call is recorded. */
function fakeControl(calls: unknown[][]): { -readonly [Name in keyof WebhookControl]: WebhookControl[Name] } {
  return {
    create(given) {
      calls.push(['create', given]);
      return Promise.resolve({ kind: 'created', webhook: webhook(given), secret: SECRET });
    },
    remove(...given) {
      calls.push(['remove', ...given]);
      return Promise.resolve({ kind: 'removed' });
    },
    change(...given) {
      calls.push(['change', ...given]);
      return Promise.resolve({ kind: 'changed', webhook: webhook({ id: given[1], ...given[2] }) });
    },
    rotate(...given) {
      calls.push(['rotate', ...given]);
      return Promise.resolve({ kind: 'rotated', webhook: webhook({ id: given[1] }), secret: NEXT_SECRET });
    },
    test(...given) {
      calls.push(['test', ...given]);
      return Promise.resolve({ kind: 'done', delivery: delivery({ endpointId: given[1], trigger: 'test' }) });
    },
    retry(...given) {
      calls.push(['retry', ...given]);
      return Promise.resolve({ kind: 'queued', delivery: delivery({ trigger: 'manual', status: 'pending' }) });
    },
  };
}

/** Returns the rows after `after`, and where the next page begins. */
function pageOf<T extends { readonly id: Id }, Id extends string>(
  newestFirst: readonly T[],
  after: Id | null,
  limit: number,
): { readonly rows: readonly T[]; readonly next: Id | null } {
  const from = after === null ? 0 : newestFirst.findIndex(({ id }) => id === after) + 1;
  const rows = newestFirst.slice(from, from + limit);
  return { rows, next: from + limit < newestFirst.length ? (rows.at(-1)?.id ?? null) : null };
}

/** Creates the endpoints behind the real router and the real verification, on rows in memory. */
export function setUp() {
  const webhooks: Webhook[] = [];
  const deliveries: Delivery[] = [];
  const calls: unknown[][] = [];
  const state = { secrets: true, settled: 0, pagesBusy: false };
  const control = fakeControl(calls);

  const webhookReader: WebhookReader = {
    find: (customer, id) => webhooks.find((row) => row.customer === customer && row.id === id) ?? null,
    page: (customer, { after, limit }) =>
      pageOf(
        webhooks.filter((row) => row.customer === customer),
        after,
        limit,
      ),
    secretsOf: () => (state.secrets ? { current: SECRET, previous: [] } : null),
  };
  const deliveryReader: DeliveryReader = {
    settled() {
      state.settled++;
      return Promise.resolve();
    },
    find: (customer, id) => deliveries.find((row) => row.customer === customer && row.id === id) ?? null,
    page(customer, query) {
      calls.push(['page', customer, query]);
      const rows = deliveries.filter((row) => row.customer === customer);
      if (state.pagesBusy) return Promise.resolve({ kind: 'busy' });
      return Promise.resolve({ kind: 'page', ...pageOf(rows, query.after, query.limit) });
    },
  };

  const keyCache = new KeyCache();
  keyCache.load([
    storedKey(SECRET_KEY),
    storedKey(PUBLIC_KEY),
    storedKey(OTHER_KEY, { customer: 8 as CustomerNumber, number: 3 }),
  ]);
  const endpoint = createEndpointFactory({
    clock: fakeClock(),
    keyCache,
    failures: new FailedAuthentications(),
    admission: new LocalAdmission(new ReplayGuard(1_000, Buffer.alloc(16)), { stage: () => {} }),
    journal: {} as Journal,
    log: createLog('silent'),
    resetRead: () => {},
    onRefused: () => {},
  });
  const cursors = new Cursors(Buffer.alloc(32));
  const policy = egressPolicy(['127.0.0.0/8']);
  const router = createRouter(
    bindRoutes(
      {
        ...deliveryHandlers(endpoint, { deliveries: deliveryReader, control, cursors }),
        ...webhookHandlers(endpoint, {
          webhooks: webhookReader,
          control,
          cursors,
          checkTarget: (url) => checkTarget(url, policy),
        }),
      },
      endpoint.refusalFields,
    ),
    () => {},
  );

  async function ask(method: string, target: string, body?: unknown, key = SECRET_KEY): Promise<Sent> {
    const [path = '', query = ''] = target.split('?');
    const text = body === undefined ? '' : JSON.stringify(body);
    const answers: Sent[] = [];
    const exchange: Exchange = {
      aborted: false,
      remoteAddress: () => '192.0.2.1',
      pauseUntil: () => {},
      readBody: (_max, done) => done(Buffer.from(text)),
      send(status, fields, sent) {
        const json = sent.length === 0 ? {} : (JSON.parse(String(sent)) as Record<string, unknown>);
        answers.push({ status, fields, json });
      },
      addFields: () => {},
      sendStream: sendWhole((...sent) => exchange.send(...sent)),
    };
    const authorization = `Bearer ${key}`;
    const unsigned = { svcKey: '', svcTimestamp: '', svcRequestId: '', svcSignature: '', authorization };
    const contentLength = body === undefined ? -1 : Buffer.byteLength(text);
    router({ ...HEAD, ...unsigned, method, path, query, contentLength }, exchange);
    await endpoint.drain();
    const [answer] = answers;
    if (answer === undefined || answers.length > 1) throw new Error(`there were ${answers.length} answers`);
    return answer;
  }

  return { ask, control, calls, webhooks, deliveries, state };
}
