import { Agent } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startHostile } from '../support/hostile-server.ts';
import { IS_FULL } from '../support/long.ts';
import { decide, newcomer, newCustomer } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { sharedServer } from '../support/shared-server.ts';
import {
  decideTo,
  eventually,
  startReceiver,
  webhookClient,
  type Arrival,
  type Receiver,
} from '../support/webhooks.ts';

/** Contract, 10.9: no delivery of an answered decision is lost, however the process ends. */

/** GATEHOUSE_KILLS in the environment of the tests sets the number of kills. */
const KILLS = Number(process.env['GATEHOUSE_KILLS'] ?? (IS_FULL ? 20 : 1));
const ALLOWED = { GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' };

function requestIdOf({ body }: Arrival): string {
  return (JSON.parse(body.toString()) as { request_id: string }).request_id;
}

function arrivedIds(arrivals: readonly Arrival[]): Set<string> {
  return new Set(arrivals.map(requestIdOf));
}

/** Each test continues with the server of the previous one, with a new customer. */
describe('a server that ends and starts again', () => {
  let dataDir: string;
  let receiver: Receiver;
  let server: RunningServer;
  let secretKey: string;
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-durability-'));
    server = await startServer({ dataDir, env: ALLOWED });
  });
  afterAll(async () => {
    await server.stop('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  });
  beforeEach(async () => {
    receiver = await startReceiver();
    ({ secretKey } = await newCustomer(server.url, dataDir));
  });
  afterEach(() => receiver.close());

  describe('SIGKILL under load', () => {
    test(`Every answered decision reaches the receiver, over ${KILLS} kills`, async () => {
      await webhookClient(server.url, secretKey).create(receiver.url, 'ALLOW', 'SOFT_CHALLENGE');
      const answered: string[] = [];
      for (let kill = 0; kill < KILLS; kill++) {
        const agent = new Agent({ keepAlive: true, maxSockets: 8 });
        const client = async (): Promise<void> => {
          for (;;) {
            try {
              const { status, json } = await decide(server.url, secretKey, newcomer(), { agent });
              if (status === 200 && json['decision'] === 'ALLOW') answered.push(String(json['request_id']));
            } catch {
              // The server is dead.
              return;
            }
          }
        };
        const before = answered.length;
        const clients = Array.from({ length: 8 }, client);
        await eventually('answers', () => Promise.resolve(answered.length - before > 150 + 40 * kill ? true : null));
        await server.stop('SIGKILL');
        await Promise.all(clients);
        agent.destroy();
        server = await startServer({ dataDir, env: ALLOWED });
      }
      const missing = (): string[] => {
        const arrived = arrivedIds(receiver.arrivals);
        return answered.filter((id) => !arrived.has(id));
      };
      await eventually('all of them', () => Promise.resolve(missing().length === 0 ? true : null)).catch(() => null);
      expect(missing()).toEqual([]);
      // All answered decisions are in the log too, and it shows that all of them arrived.
      const { deliveries } = webhookClient(server.url, secretKey);
      await eventually('the log', async () => ((await deliveries('?status=pending')).length === 0 ? true : null));
      expect(await deliveries('?status=failed')).toEqual([]);
    }, 180_000);

    test('A delivery that waits for its retry continues after a SIGKILL, and has four attempts at most', async () => {
      await webhookClient(server.url, secretKey).create(receiver.url, 'ALLOW');
      receiver.answers(500);
      const { json } = await decideTo(server.url, secretKey, 'ALLOW');
      await receiver.arrived(2);
      await eventually('the second attempt’s record', async () => {
        const [row] = await webhookClient(server.url, secretKey).deliveries();
        return row?.attempt_count === 2 ? true : null;
      });
      await server.stop('SIGKILL');
      server = await startServer({ dataDir, env: ALLOWED });
      const row = await webhookClient(server.url, secretKey).ended(`?request_id=${String(json['request_id'])}`);
      expect(row).toMatchObject({
        status: 'failed',
        attempt_count: 4,
        last_error: 'http_status',
        last_status_code: 500,
      });
      expect(receiver.arrivals).toHaveLength(4);
      expect(new Set(receiver.arrivals.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([row.id]));
    }, 180_000);
  });

  describe('SIGTERM', () => {
    test('SIGTERM with deliveries in flight and waiting ends in time with code 0, and all of them continue after the next start', async () => {
      const hanging = await startHostile('never_answers');
      const { create } = webhookClient(server.url, secretKey);
      await create(`${hanging.url}/hook`, 'ALLOW');
      await create(receiver.url, 'ALLOW');
      receiver.answers(503, 503, 503, 503, 503, 200);
      for (let i = 0; i < 5; i++) await decideTo(server.url, secretKey, 'ALLOW');
      await receiver.arrived(5);
      await eventually('the hanging attempts', () => Promise.resolve(hanging.requests().length >= 4 ? true : null));
      const sinceMs = performance.now();
      expect(await server.stop()).toBe(0);
      expect(performance.now() - sinceMs).toBeLessThan(12_000);
      await hanging.close();

      server = await startServer({ dataDir, env: ALLOWED });
      const { deliveries } = webhookClient(server.url, secretKey);
      await eventually('all deliveries of the receiver', async () =>
        (await deliveries('?status=succeeded')).length === 5 ? true : null,
      );
      const cut = (await deliveries()).filter(({ attempts }) => attempts.some(({ error }) => error === 'shutdown'));
      expect(cut).toHaveLength(4);
      expect(arrivedIds(receiver.arrivals).size).toBe(5);
    }, 180_000);
  });
});

describe('endpoints that hang', () => {
  test('Endpoints that hang do not delay an endpoint that responds', async () => {
    const { url: serverUrl, secretKey } = await sharedServer();
    const hanging = await Promise.all(Array.from({ length: 3 }, () => startHostile('never_answers')));
    const { create } = webhookClient(serverUrl, secretKey);
    for (const { url } of hanging) {
      for (const path of ['a', 'b', 'c']) await create(`${url}/${path}`, 'ALLOW');
    }
    const receiver = await startReceiver();
    await create(receiver.url, 'ALLOW');
    const answeredAt = new Map<string, number>();
    for (let i = 0; i < 60; i++) {
      const { json } = await decideTo(serverUrl, secretKey, 'ALLOW');
      answeredAt.set(String(json['request_id']), Date.now());
    }
    const arrivals = await receiver.arrived(60);
    const lateMs = arrivals
      .map((arrival) => arrival.atMs - (answeredAt.get(requestIdOf(arrival)) ?? 0))
      .sort((a, b) => a - b);
    // An attempt at a hanging endpoint takes 5 s.
    expect(lateMs.at(-1)).toBeLessThan(3_000);
    await Promise.all([...hanging, receiver].map((one) => one.close()));
  }, 180_000);
});
