import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { newId } from '../../../src/kernel/ids.ts';
import type { Store } from '../../../src/state/open-store.ts';
import type { DeliverSignal } from '../../../src/webhooks/deliver-messages.ts';
import { type DeliverPool, openDeliverPool } from '../../../src/webhooks/deliver-pool.ts';
import { HEALTHY } from '../../../src/work/webhook-health.ts';
import type { Delivery, DeliveryStatus, Webhook, WebhookId } from '../../../src/work/webhook.ts';
import { delivery } from '../state/deliveries-support.ts';
import { open, tempFolder, value } from '../state/support.ts';

/** The delivery thread of the build, on a real store. */

const KEY = Buffer.alloc(32, 1);
const CUSTOMER = 7 as CustomerNumber;

let port: number;
let answer: (url: string) => number | null;
let arrivals: string[];
let stopServer: () => Promise<void>;
let store: Store;
let pool: DeliverPool;
let signals: DeliverSignal[];
let ready: number;
let ended: unknown[];

beforeEach(async () => {
  [arrivals, signals, ended, ready] = [[], [], [], 0];
  answer = () => 200;
  const server = createServer((req, res) => {
    arrivals.push(req.url ?? '');
    const status = answer(req.url ?? '');
    if (status !== null) req.resume().on('end', () => res.writeHead(status).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
  stopServer = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  const dataDir = tempFolder();
  store = open(dataDir);
  const beat = new Int32Array(new SharedArrayBuffer(4));
  const data = { egressAllow: ['127.0.0.0/8'], attemptsInFlightMax: 16, dataDir, secretsKey: KEY, beat };
  const onSignal = (signal: DeliverSignal): void => void signals.push(signal);
  pool = await openDeliverPool(data, { onReady: () => ready++, onSignal, onEnded: (error) => ended.push(error) });
});
afterEach(async () => {
  await pool.close(0);
  await store.close();
  await stopServer();
});

async function webhook(path: string): Promise<Webhook> {
  const id = newId('wh', 1) as WebhookId;
  const rest = { eventTypes: ['BLOCK'], description: null, disabled: false, createdAtMs: 1, updatedAtMs: 1 } as const;
  const made: Webhook = { id, customer: CUSTOMER, url: `http://127.0.0.1:${port}/${path}`, ...rest, health: HEALTHY };
  await value(store.webhooks.create(KEY, made, `whsec_${Buffer.alloc(32).toString('base64')}`));
  return made;
}

function rowTo(endpoint: Webhook, extra: Partial<Delivery> = {}): Delivery {
  return delivery(CUSTOMER, { endpointId: endpoint.id, url: endpoint.url, ...extra }, Date.now());
}

function start(listening: readonly { readonly host: string; readonly port: number }[] = []): void {
  const journal = { folder: tempFolder(), firstFile: 1, acknowledged: 0 };
  pool.send({ kind: 'start', listening, journal, end: { upToSequence: 0, file: 1 } });
}

async function until(row: Delivery, status: DeliveryStatus): Promise<Delivery> {
  return vi.waitFor(() => {
    store.deliveries.resetRead();
    const found = store.deliveries.find(row.customer, row.id);
    if (found?.status !== status) throw new Error(`it is ${found?.status ?? 'missing'}`);
    return found;
  }, 20_000);
}

describe('the delivery thread', () => {
  test('It sends what it finds pending and what is added, and stores every result', async () => {
    const endpoint = await webhook('a');
    const found = rowTo(endpoint);
    await value(store.deliveries.insert([found], 0));
    start();
    const added = rowTo(endpoint, { trigger: 'manual' });
    pool.send({ kind: 'add', number: 3, row: added });
    for (const row of [found, added])
      expect((await until(row, 'succeeded')).attempts).toMatchObject([{ attempt: 1, statusCode: 200 }]);
    expect(signals).toContainEqual({ kind: 'added', number: 3, outcome: 'stored' });
    expect(arrivals).toEqual(['/a', '/a']);
    await vi.waitFor(() => {
      const report = signals.findLast((signal) => signal.kind === 'report');
      expect(report?.metrics).toMatchObject({ pending: 0, held: 0, attemptsInFlight: 0 });
    }, 20_000);
  });

  test('It never sends to an address that the service listens on', async () => {
    const row = rowTo(await webhook('a'), { trigger: 'test' });
    start([{ host: '127.0.0.1', port }]);
    pool.send({ kind: 'add', number: 1, row });
    expect((await until(row, 'failed')).error).toBe('blocked_address');
    expect(arrivals).toEqual([]);
    await vi.waitFor(() => {
      const all = signals.flatMap((signal) => (signal.kind === 'report' ? signal.ended : []));
      expect(all).toEqual([row.id]);
    }, 20_000);
  });

  test('A thread that dies is replaced, and its successor continues with what is stored', async () => {
    const endpoint = await webhook('a');
    // A message without the fields of its kind is an error of the caller, and ends the thread.
    pool.send({ kind: 'add', number: 1 } as never);
    start();
    pool.send({ kind: 'add', number: 1 } as never);
    await vi.waitFor(() => expect(ready).toBeGreaterThanOrEqual(2), 20_000);
    expect(ended.length).toBeGreaterThanOrEqual(1);
    const row = rowTo(endpoint);
    start();
    pool.send({ kind: 'add', number: 2, row });
    await until(row, 'succeeded');
  });

  test('A stop lets attempts in flight run for the grace period, and stores every result before it resolves', async () => {
    answer = (url) => (url === '/hangs' ? null : 200);
    const [hanging, prompt] = [rowTo(await webhook('hangs')), rowTo(await webhook('a'))];
    await value(store.deliveries.insert([hanging, prompt], 0));
    start();
    await until(prompt, 'succeeded');
    await vi.waitFor(() => expect(arrivals).toContain('/hangs'), 20_000);
    const sinceMs = performance.now();
    await pool.close(300);
    expect(performance.now() - sinceMs).toBeGreaterThanOrEqual(290);
    expect((await until(hanging, 'pending')).attempts).toMatchObject([{ attempt: 1, error: 'shutdown' }]);
    expect(pool.send({ kind: 'forget', endpointId: 'a' })).toBe(false);
  });
});
