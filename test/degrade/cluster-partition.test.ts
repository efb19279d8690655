import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Nodes, startNodes } from '../support/cluster.ts';
import { command } from '../support/command-line.ts';
import { bearer, fingerprintOf } from '../support/manage.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../support/redis.ts';
import { decide, get, newcomer } from '../support/requests.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { stranger, visit } from '../support/visits.ts';
import { eventually } from '../support/webhooks.ts';

/**
 * Two servers over one store, the second of which is cut off from the store, and by that from the other: nodes reach each other through
 * the store only.
 */

const SIGNUPS = 'velocity_ip_signups_24h';
const ALLOWANCE = 10;
const [WITH, CUT_OFF] = [0, 1];

let redis: RedisServer;
let proxy: TcpProxy;
let nodes: Nodes;
let serial = 0;

beforeAll(async () => {
  if (!HAS_REDIS) return;
  redis = await startRedis();
  proxy = await startTcpProxy(redis.port);
  nodes = await startNodes({
    count: 2,
    storeUrl: (node) => `redis://127.0.0.1:${node === CUT_OFF ? proxy.port : redis.port}`,
    env: { GATEHOUSE_WORKERS: '1' },
  });
  await healed();
});
afterEach(async () => {
  if (!HAS_REDIS) return;
  proxy.set('open');
  await healed();
});
afterAll(async () => {
  if (!HAS_REDIS) return;
  await nodes.stop();
  await proxy.close();
  await redis.stop();
});

type Layers = Readonly<Record<'cluster' | 'feed' | 'velocity', { readonly state: string }>>;

async function readiness(node: number): Promise<{ status: unknown; cluster: string; feed: string; velocity: string }> {
  const { json } = await get(nodes.at(node).url, '/readyz');
  const { cluster, feed, velocity } = json['layers'] as Layers;
  return { status: json['status'], cluster: cluster.state, feed: feed.state, velocity: velocity.state };
}

/** Resolves when both servers decide over the store, and what they kept for it has arrived there. */
async function healed(): Promise<void> {
  for (const node of [WITH, CUT_OFF])
    await eventually(`node ${node} with the store`, async () => {
      const { json } = await decide(nodes.at(node).url, nodes.secretKey);
      const { cluster, feed, velocity } = await readiness(node);
      const { text } = await get(nodes.at(node).url, '/metrics');
      const waiting = /^gatehouse_cluster_ids_waiting (\d+)$/m.exec(text)?.[1];
      const isWell = json['session_mode'] !== 'degraded' && [cluster, feed, velocity].every((one) => one === 'ok');
      return isWell && waiting === '0' ? true : null;
    });
}

interface Answered {
  readonly status: number;
  readonly code: unknown;
  readonly mode: unknown;
}

async function once(node: number, requestId: string = randomUUID(), key?: string): Promise<Answered> {
  const { status, json } = await decide(nodes.at(node).url, key ?? nodes.secretKey, newcomer(), { requestId });
  return { status, code: json['code'], mode: json['session_mode'] };
}

const REPLAYED = { status: 401, code: 'replayed_request' };
const ALONE = { status: 200, mode: 'degraded' };

/** Returns how many of more requests than the allowance these servers accept, in turn. */
async function acceptedOf(key: string, ...at: readonly number[]): Promise<number> {
  let accepted = 0;
  for (let n = 0; n < 2 * ALLOWANCE; n++)
    if ((await once(at[n % at.length] ?? 0, randomUUID(), key)).status === 200) accepted++;
  return accepted;
}

async function onNode(node: number, ...words: readonly string[]): Promise<Record<string, string>> {
  const { out } = await command(['--json', '--data-dir', nodes.at(node).dataDir, ...words], { env: nodes.env(node) });
  return JSON.parse(out) as Record<string, string>;
}

async function isKnown(node: number, key: string): Promise<boolean> {
  return (await bearer(nodes.at(node).url, key, 'GET', '/v1/me')).status === 200;
}

async function limitedKey(): Promise<string> {
  const { customer_id: customer = '' } = await onNode(WITH, 'customers', 'create', `shop-${serial++}`);
  const words = ['keys', 'create', '--customer', customer, '--rate-limit', String(ALLOWANCE)];
  const { secret_key: key = '' } = await onNode(WITH, ...words);
  for (const node of [WITH, CUT_OFF])
    await eventually('the new key', async () => ((await isKnown(node, key)) ? true : null));
  return key;
}

const minute = (): number => Math.floor(Date.now() / 60_000);
/** The minute of the limits should not end within a test. */
const early = (): Promise<true> =>
  eventually('the first half of a minute', () => Promise.resolve((Date.now() / 1_000) % 60 < 35 ? true : null));

function block(node: number, token: string): Promise<number> {
  const entry = { fingerprint_hash: fingerprintOf(token), action: 'block' };
  return bearer(nodes.at(node).url, nodes.secretKey, 'POST', '/v1/lists', entry).then(({ status }) => status);
}

async function isBlocked(node: number, token: string): Promise<boolean> {
  const body = { ...newcomer(), session_token: token };
  return (await decide(nodes.at(node).url, nodes.secretKey, body)).json['decision'] === 'BLOCK';
}

describe.skipIf(!HAS_REDIS)('a server that is cut off from the store', () => {
  test.each(['hole', 'cut'] as const)(
    'It decides alone and reports it (%s); afterwards ids, limits, blocks, revocations and counts are right on both',
    async (network) => {
      const [key, revoked] = [await limitedKey(), await limitedKey()];
      const ip = `83.${1 + (serial++ % 250)}.69.160`;
      const [own, its, alone] = [randomUUID(), randomUUID(), randomUUID()];
      expect(await once(WITH, own)).toMatchObject({ status: 200 });
      expect(await once(CUT_OFF, its)).toMatchObject({ status: 200 });

      await early();
      const beganIn = minute();
      proxy.set(network);
      await eventually('the node that is cut off', async () =>
        (await readiness(CUT_OFF)).cluster === 'broken' ? true : null,
      );
      await eventually('its feed', async () => ((await readiness(CUT_OFF)).feed === 'broken' ? true : null));
      expect(await readiness(CUT_OFF)).toMatchObject({ status: 'degraded' });
      expect(await readiness(WITH)).toMatchObject({ cluster: 'ok', feed: 'ok', velocity: 'ok' });

      // Ids: each server refuses those that it has accepted itself.
      expect(await once(CUT_OFF, its)).toMatchObject(REPLAYED);
      expect(await once(CUT_OFF, alone)).toMatchObject(ALONE);
      expect(await once(CUT_OFF, alone)).toMatchObject(REPLAYED);
      const during = randomUUID();
      expect(await once(WITH, during)).toMatchObject({ status: 200, mode: 'unverified' });

      // Limits: each server counts what it sees, so no server accepts more than the allowance.
      const accepted = [await acceptedOf(key, CUT_OFF), await acceptedOf(key, WITH)];
      // A machine that stands still for half a minute says nothing about limits.
      if (minute() === beganIn) expect(accepted).toEqual([ALLOWANCE, ALLOWANCE]);

      // Changes: the connected server makes them; the other one refuses its own, and follows later.
      const token = `blocked-${serial++}`;
      expect(await block(WITH, token)).toBe(201);
      expect(await block(CUT_OFF, `refused-${serial++}`)).toBe(503);
      expect(await onNode(WITH, 'keys', 'revoke', revoked.slice(0, 12), '--yes')).toMatchObject({});
      expect(await isKnown(WITH, revoked)).toBe(false);
      expect([await isBlocked(WITH, token), await isBlocked(CUT_OFF, token)]).toEqual([true, false]);

      for (const node of [WITH, CUT_OFF, WITH, CUT_OFF]) {
        const { reasons } = await visit(nodes.at(node).url, nodes.secretKey, stranger(ip, 'signup'));
        expect(reasons).not.toContain(SIGNUPS);
      }

      proxy.set('open');
      await healed();
      for (const id of [own, its, alone, during])
        for (const node of [WITH, CUT_OFF]) expect(await once(node, id)).toMatchObject(REPLAYED);
      const afterwards = await acceptedOf(key, WITH, CUT_OFF);
      if (minute() === beganIn) expect(afterwards).toBe(0);
      expect(await isBlocked(CUT_OFF, token)).toBe(true);
      expect(await isKnown(CUT_OFF, revoked)).toBe(false);
      for (const node of [WITH, CUT_OFF]) {
        const { reasons } = await visit(nodes.at(node).url, nodes.secretKey, stranger(ip, 'signup'));
        expect(reasons).toContain(SIGNUPS);
      }
    },
  );
});
