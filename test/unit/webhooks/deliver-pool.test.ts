import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { DeliverResult, DeliverStats, DeliverTask } from '../../../src/webhooks/deliver-messages.ts';
import type { DeliverPool, DeliverPoolEvents, openDeliverPool as Open } from '../../../src/webhooks/deliver-pool.ts';

/** Loads the built pool with its real worker, which sends over loopback. */
const { openDeliverPool } = (await import(
  new URL('../../../dist/src/webhooks/deliver-pool.js', import.meta.url).href
)) as { openDeliverPool: typeof Open };

let pool: DeliverPool;
let results: DeliverResult[];
let stats: DeliverStats | null;
let ready: number;
let ended: unknown[];
let arrivals: { url: string; headers: Record<string, unknown> }[];
let answer: (url: string) => number | null;
let port: number;
let stopServer: () => Promise<void>;

beforeEach(async () => {
  [results, arrivals, ended, ready, stats] = [[], [], [], 0, null];
  answer = () => 200;
  const server = createServer((req, res) => {
    arrivals.push({ url: req.url ?? '', headers: req.headers });
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
  const events: DeliverPoolEvents = {
    onReady: () => ready++,
    onResults: (given, seen) => {
      results.push(...given);
      stats = seen;
    },
    onEnded: (error) => ended.push(error),
  };
  pool = await openDeliverPool({ egressAllow: ['127.0.0.0/8'], attemptsInFlightMax: 16 }, events);
});
afterEach(async () => {
  await pool.close(0);
  await stopServer();
});

function meet(endpointId: string, url = `http://127.0.0.1:${port}/${endpointId}`): void {
  const secrets = { current: `whsec_${Buffer.alloc(32).toString('base64')}`, previous: [] };
  pool.send({ kind: 'endpoint', endpoint: { endpointId, url, secrets } });
}

function deliver(endpointId: string, count: number): void {
  const rest = { trigger: 'decision', attemptsMade: 0, elapsedMs: 0, notBeforeMs: 0 } as const;
  const tasks = Array.from({ length: count }, (_none, at): DeliverTask => {
    return { ...rest, endpointId, deliveryId: `${endpointId}/${at}`, body: Buffer.from('{}') };
  });
  pool.send({ kind: 'deliver', tasks });
}

describe('the deliver pool', () => {
  test('The deliver pool sends signed requests and returns results with statistics', async () => {
    meet('a');
    deliver('a', 40);
    await vi.waitFor(() => expect(results).toHaveLength(40), 5_000);
    expect(results.every(({ outcome }) => outcome.kind === 'succeeded')).toBe(true);
    expect(arrivals).toHaveLength(40);
    expect(arrivals[0]?.headers).toMatchObject({
      'x-svc-webhook-signature': expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      'webhook-id': expect.stringMatching(/^a\//) as string,
    });
    expect(stats).toMatchObject({ held: 0, attemptsInFlight: 0, blockedAddresses: 0 });
    expect((stats?.connectionsOpened ?? 0) + (stats?.connectionsReused ?? 0)).toBe(40);
    expect(stats?.connectionsOpened).toBeLessThanOrEqual(16);
  });

  test('The deliver pool never sends to an address that the service listens on', async () => {
    pool.send({ kind: 'listening', addresses: [{ host: '127.0.0.1', port }] });
    meet('a');
    deliver('a', 1);
    await vi.waitFor(() => expect(results).toHaveLength(1), 5_000);
    expect(results[0]?.attempt?.error).toBe('blocked_address');
    expect(arrivals).toEqual([]);
  });

  test('The deliver pool retries on time while its worker is idle', async () => {
    let first = true;
    answer = () => {
      const status = first ? 503 : 200;
      first = false;
      return status;
    };
    meet('a');
    deliver('a', 1);
    await vi.waitFor(() => expect(results).toHaveLength(2), 5_000);
    const [one, two] = results.map(({ attempt }) => attempt);
    const waitedMs = (two?.startedAtMs ?? 0) - (one?.startedAtMs ?? 0) - (one?.durationMs ?? 0);
    expect(waitedMs).toBeGreaterThanOrEqual(1_990);
    expect(waitedMs).toBeLessThan(4_500);
  });

  test('The deliver pool replaces a worker that dies, and the new worker starts without state', async () => {
    // A delivery for an unknown endpoint is an error of the caller, and ends the worker.
    deliver('unknown', 1);
    await vi.waitFor(() => expect(ready).toBe(2), 5_000);
    expect(ended).toHaveLength(1);
    expect(pool.up).toBe(true);
    meet('a');
    deliver('a', 1);
    await vi.waitFor(() => expect(results).toHaveLength(1), 5_000);
  });

  test('A stop waits for attempts in flight up to the grace period, and every result arrives before it resolves', async () => {
    answer = (url) => (url === '/hangs' ? null : 200);
    meet('hangs');
    meet('a');
    deliver('hangs', 1);
    deliver('a', 3);
    await vi.waitFor(() => expect(results).toHaveLength(3), 5_000);
    const sinceMs = performance.now();
    await pool.close(300);
    expect(performance.now() - sinceMs).toBeGreaterThanOrEqual(290);
    expect(results.at(-1)).toMatchObject({
      endpointId: 'hangs',
      outcome: { kind: 'kept' },
      attempt: { error: 'shutdown' },
    });
    expect(pool.send({ kind: 'forget', endpointId: 'a' })).toBe(false);
  });
});
