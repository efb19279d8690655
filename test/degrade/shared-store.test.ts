import { randomUUID } from 'node:crypto';
import { cpSync, lstatSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { makeCertificate } from '../support/certificate.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { decide, get, newcomer } from '../support/requests.ts';
import { type RunningServer, startServer } from '../support/server.ts';

/** Nodes that share a store which fails. Admission is shared; all else here is each node's own. */
const MASTER_KEY = '74657374'.repeat(8);
const POLL = { timeout: 30_000, interval: 50 };

let redis: RedisServer;
let proxy: TcpProxy;
let folder = '';
const servers: RunningServer[] = [];

beforeEach(async () => {
  redis = await startRedis();
  proxy = await startTcpProxy(redis.port);
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-nodes-'));
});

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop('SIGKILL')));
  await proxy.close();
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(name: string, env: Readonly<Record<string, string>> = {}): Promise<RunningServer> {
  const server = await startServer({
    dataDir: join(folder, name),
    env: {
      GATEHOUSE_MASTER_KEY: MASTER_KEY,
      GATEHOUSE_CLUSTER_URL: `redis://127.0.0.1:${proxy.port}`,
      GATEHOUSE_NODE_ID: name,
      GATEHOUSE_WORKERS: '1',
      ...env,
    },
  });
  servers.push(server);
  return server;
}

/** Makes the node a member of the cluster: only the first start of a node needs the store. */
async function joined(name: string): Promise<RunningServer> {
  const node = await start(name);
  await node.stop();
  return node;
}

interface Pair {
  readonly one: RunningServer;
  readonly other: RunningServer;
  readonly secretKey: string;
}

/** Two nodes with the same customers and keys. */
async function startPair(): Promise<Pair> {
  const { secretKey } = await joined('one');
  // The socket of the command line cannot be copied.
  const filter = (path: string): boolean => !lstatSync(path).isSocket();
  cpSync(join(folder, 'one'), join(folder, 'other'), { recursive: true, filter });
  const [one, other] = await Promise.all([start('one'), start('other')]);
  return { one, other, secretKey };
}

async function layerOf({ url }: RunningServer): Promise<{ status: string; state: string; code: number }> {
  const { status: code, json } = await get(url, '/readyz');
  const { status, layers } = json as { status: string; layers: { cluster: { state: string } } };
  return { status, state: layers.cluster.state, code };
}

async function countedAlone({ url }: RunningServer): Promise<number> {
  const { text } = await get(url, '/metrics');
  return Number(/^gatehouse_cluster_alone_total (\d+)$/m.exec(text)?.[1]);
}

/** Waits for a decision that the store has counted: the first round trips of a start on a busy machine may be late. */
const shares = (node: RunningServer, key: string): Promise<void> =>
  vi.waitFor(async () => {
    const before = await countedAlone(node);
    expect((await decide(node.url, key)).status).toBe(200);
    expect(await countedAlone(node)).toBe(before);
  }, POLL);

const modeOf = async (server: RunningServer, key: string): Promise<unknown> =>
  ((await decide(server.url, key)).json as { session_mode: string }).session_mode;

describe('two nodes over one store', () => {
  test('A request id accepted by one node is refused by the other, and a rate limit holds over both', async () => {
    const { one, other, secretKey } = await startPair();
    for (const node of [one, other]) await shares(node, secretKey);
    for (const [first, second] of [
      [one, other],
      [other, one],
    ] as const) {
      const requestId = randomUUID();
      expect((await decide(first.url, secretKey, newcomer(), { requestId })).status).toBe(200);
      const copy = await decide(second.url, secretKey, newcomer(), { requestId });
      expect([copy.status, (copy.json as { code: string }).code]).toEqual([401, 'replayed_request']);
    }
    // Repeated: a new minute may begin, and on a busy machine a round trip may be late.
    await vi.waitFor(async () => {
      const left: number[] = [];
      for (let n = 0; n < 6; n++) {
        const { headers } = await decide((n % 2 === 0 ? one : other).url, secretKey);
        left.push(Number(headers['x-svc-rl-remaining']));
      }
      expect(left.slice(1).map((now, n) => (left[n] ?? 0) - now)).toEqual([1, 1, 1, 1, 1]);
    }, POLL);
  });
});

describe('a node whose shared store fails', () => {
  test('A killed store costs no decision: the node decides alone and reports it, until the store is back', async () => {
    const node = await start('one');
    const key = node.secretKey;
    await shares(node, key);
    await vi.waitFor(async () => expect(await layerOf(node)).toMatchObject({ state: 'ok' }), POLL);
    const before = randomUUID();
    await decide(node.url, key, newcomer(), { requestId: before });
    await redis.kill();
    const alone = randomUUID();
    await vi.waitFor(async () => expect(await modeOf(node, key)).toBe('degraded'), POLL);
    expect((await decide(node.url, key, newcomer(), { requestId: alone })).status).toBe(200);
    for (const requestId of [before, alone])
      expect((await decide(node.url, key, newcomer(), { requestId })).status).toBe(401);
    expect(await layerOf(node)).toEqual({ status: 'degraded', state: 'broken', code: 200 });
    expect((await get(node.url, '/metrics')).text).toMatch(/^gatehouse_cluster_alone_total [1-9]/m);
    await redis.restart();
    await shares(node, key);
    await vi.waitFor(async () => expect(await layerOf(node)).toMatchObject({ state: 'ok' }), POLL);
    // The ids admitted alone are in the store, which lost all others.
    await vi.waitFor(
      async () => expect((await get(node.url, '/metrics')).text).toContain('\ngatehouse_cluster_ids_waiting 0\n'),
      POLL,
    );
    expect((await decide(node.url, key, newcomer(), { requestId: before })).status).toBe(401);
    await vi.waitFor(() => expect(node.stdout()).toMatch(/the shared store fails.*the shared store answers/s), POLL);
  });

  test('A store that is 500 ms late delays no decision by more than the deadline', async () => {
    const node = await start('one');
    const key = node.secretKey;
    await shares(node, key);
    proxy.set(500);
    for (let n = 0; n < 20; n++) {
      const { status, json } = await decide(node.url, key);
      expect([status, (json as { latency_ms: number }).latency_ms < 400]).toEqual([200, true]);
    }
    expect(await modeOf(node, key)).toBe('degraded');
    proxy.set('open');
    await shares(node, key);
  });

  test('A store without memory refuses, and the node decides alone without waiting', async () => {
    const node = await start('one');
    const key = node.secretKey;
    await shares(node, key);
    await redis.configure('maxmemory-policy', 'noeviction');
    await redis.configure('maxmemory', '1');
    expect(await modeOf(node, key)).toBe('degraded');
    await redis.configure('maxmemory', '0');
    await shares(node, key);
  });

  test('A start without the store is degraded, and takes the store when it answers', async () => {
    const { secretKey: key } = await joined('one');
    await redis.kill();
    const node = await start('one');
    expect(await modeOf(node, key)).toBe('degraded');
    expect(await layerOf(node)).toEqual({ status: 'degraded', state: 'broken', code: 200 });
    await redis.restart();
    await shares(node, key);
  });

  test('A strict node refuses every decision with 429 while the store is away, and is not ready', async () => {
    const { secretKey: key } = await joined('one');
    await redis.kill();
    const node = await start('one', { GATEHOUSE_CLUSTER_STRICT: '1' });
    const refused = await decide(node.url, key);
    expect([refused.status, (refused.json as { code: string }).code]).toEqual([429, 'overloaded']);
    expect(refused.headers['retry-after']).toBe('1');
    expect(await layerOf(node)).toEqual({ status: 'unavailable', state: 'broken', code: 503 });
    await redis.restart();
    await vi.waitFor(async () => expect((await decide(node.url, key)).status).toBe(200), POLL);
    proxy.set('hole');
    await vi.waitFor(async () => expect((await decide(node.url, key)).status).toBe(429), POLL);
    expect((await get(node.url, '/metrics')).text).toMatch(/^gatehouse_cluster_refused_total [1-9]/m);
  });

  test('A store behind TLS, with a user and a password, is used if its certificate is trusted', async () => {
    const { certFile, keyFile } = makeCertificate(folder);
    for (const [name, value] of [
      ['tls-cert-file', certFile],
      ['tls-key-file', keyFile],
      ['tls-auth-clients', 'no'],
    ] as const)
      await redis.configure(name, value);
    await redis.command('ACL', 'SETUSER', 'gatehouse', 'on', '>a-password', '~{gh:*', '+@all', '-@dangerous');
    await redis.command('CONFIG', 'SET', 'port', '0', 'tls-port', String(redis.port)).catch(() => {});
    const node = await start('one', {
      GATEHOUSE_CLUSTER_URL: `rediss://localhost:${redis.port}`,
      GATEHOUSE_CLUSTER_USER: 'gatehouse',
      GATEHOUSE_CLUSTER_PASSWORD: 'a-password',
      NODE_EXTRA_CA_CERTS: certFile,
    });
    await shares(node, node.secretKey);
    await vi.waitFor(async () => expect(await layerOf(node)).toMatchObject({ state: 'ok' }), POLL);
  });
});
