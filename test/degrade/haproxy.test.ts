import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Nodes, startNodes } from '../support/cluster.ts';
import { HAS_HAPROXY, type Haproxy, startHaproxy } from '../support/haproxy.ts';
import { bearer } from '../support/manage.ts';
import { freePorts, HAS_REDIS, type RedisServer, startRedis } from '../support/redis.ts';
import { decide, get, send } from '../support/requests.ts';
import { type LoadFigures, steadyLoad } from '../support/steady-load.ts';

/** deploy/haproxy.cfg in front of three nodes. */

const POLL = { timeout: 30_000, interval: 50 };
const COUNT = 3;
const PER_SECOND = 40;
const SECONDS = 8;

let redis: RedisServer;
let nodes: Nodes;
let proxy: Haproxy;
let ports: readonly number[] = [];

const isRun = HAS_HAPROXY && HAS_REDIS;

beforeAll(async () => {
  if (!isRun) return;
  const [port = 0, ...nodePorts] = await freePorts(1 + COUNT);
  ports = nodePorts;
  redis = await startRedis();
  nodes = await startNodes({
    count: COUNT,
    storeUrl: redis.url,
    env: { GATEHOUSE_WORKERS: '1', GATEHOUSE_TRUSTED_PROXIES: '127.0.0.1/32,127.0.0.3/32' },
    envOf: (node) => ({ GATEHOUSE_PORT: String(ports[node]) }),
  });
  proxy = await startHaproxy(port, ports);
});

afterAll(async () => {
  if (!isRun) return;
  await proxy.stop();
  await nodes.stop();
  await redis.stop();
});

/** Sends decisions before, during and after `work`. */
async function underLoad(work: () => Promise<void>): Promise<LoadFigures> {
  const [figures] = await Promise.all([
    steadyLoad(() => proxy.url, nodes.secretKey, { perSecond: PER_SECOND, seconds: SECONDS }),
    sleep(1_000).then(work),
  ]);
  return figures;
}

/** How many decisions a node made. */
async function decisionsOf(node: number): Promise<number> {
  const { text } = await get(nodes.at(node).url, '/metrics');
  return [...text.matchAll(/^gatehouse_decisions_total\{[^}]*\} (\d+)$/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
}

/** Waits until the balancer sends requests to all nodes. */
async function allServe(): Promise<void> {
  const before = await Promise.all(Array.from({ length: COUNT }, (_, node) => decisionsOf(node)));
  await expect
    .poll(async () => {
      await Promise.all(Array.from({ length: 6 }, () => decide(proxy.url, nodes.secretKey)));
      const now = await Promise.all(before.map((_count, node) => decisionsOf(node)));
      return now.every((count, node) => count > (before[node] ?? 0));
    }, POLL)
    .toBe(true);
}

/** Status of `/metrics`, which is open to clients on loopback only, for a client at this address that claims to be another one. */
function metricsFrom(localAddress: string, claimed: string): Promise<number> {
  const url = new URL('/metrics', proxy.url);
  return new Promise((resolve, reject) => {
    const asked = request(url, { localAddress, headers: { 'x-forwarded-for': claimed } }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
    });
    asked.on('error', reject).end();
  });
}

describe.runIf(isRun)('HAProxy in front of three nodes', () => {
  test('Requests are spread over all nodes, and signatures over paths, queries and bodies verify', async () => {
    await allServe();
    const key = nodes.secretKey;
    for (const path of ['/v1/decisions?limit=2', '/v1/decisions?limit=%32', '/v1/../v1/lists?limit=1&x=%7E+%20'])
      expect([path, (await send(proxy.url, key, { method: 'GET', path })).status]).toEqual([
        path,
        (await send(nodes.at(0).url, key, { method: 'GET', path })).status,
      ]);
    const body = JSON.stringify({ fingerprint_hash: 'ab'.repeat(32), action: 'block', note: 'ä  "\u2028' });
    expect((await send(proxy.url, key, { path: '/v1/lists', body })).status).toBe(201);
    expect((await send(proxy.url, key, { signedBody: '{}', body: '{ }' })).status).toBe(401);
    const large = JSON.stringify({ entries: Array.from({ length: 300 }, (_, n) => entry(n)) });
    expect((await bearer(proxy.url, key, 'POST', '/v1/lists/batch', JSON.parse(large))).status).toBe(200);
  });

  test('The address of the client is that of the connection, whatever it claims, unless it is a trusted proxy itself', async () => {
    expect(await metricsFrom('127.0.0.2', '203.0.113.9')).toBe(200);
    expect(await metricsFrom('127.0.0.3', '203.0.113.9')).toBe(401);
    expect(await metricsFrom('127.0.0.3', '203.0.113.9, 127.0.0.2')).toBe(200);
  });

  test('A node that is stopped in an orderly way costs no request', async () => {
    const figures = await underLoad(async () => {
      await nodes.stopNode(1, 'SIGTERM');
    });
    expect(figures.statuses).toEqual({ 200: PER_SECOND * SECONDS });
    await nodes.startNode(1);
    await allServe();
  });

  test('A node that is killed costs only what it was answering', async () => {
    let killedMs = 0;
    const figures = await underLoad(async () => {
      await nodes.stopNode(2, 'SIGKILL');
      killedMs = performance.now();
    });
    expect(figures.failedAtMs.filter((sentMs) => sentMs > killedMs)).toEqual([]);
    expect(figures.accepted.length).toBeGreaterThan(0.9 * PER_SECOND * SECONDS);
    await nodes.startNode(2);
    await allServe();
  });
});

function entry(n: number): object {
  return { fingerprint_hash: n.toString(16).padStart(64, '0'), action: 'block' };
}
