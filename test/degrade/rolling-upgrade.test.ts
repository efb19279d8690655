import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unpack } from '../../src/kernel/pack.ts';
import { CLUSTER_VALUES_PURPOSE } from '../../src/cluster/store/encrypted-values.ts';
import { openEntry } from '../../src/cluster/feed/change-chain.ts';
import { HEAD_KEY } from '../../src/cluster/feed/feed-keys.ts';
import { firstFrom, readAfter } from '../../src/cluster/feed/feed-store.ts';
import { deriveKey } from '../../src/state/repair/master-key.ts';
import { type Balancer, startBalancer } from '../support/balancer.ts';
import { CLUSTER_MASTER_KEY, type Nodes, startNodes } from '../support/cluster.ts';
import { command } from '../support/command-line.ts';
import { linkTo } from '../support/links.ts';
import { bearer } from '../support/manage.ts';
import { type Build, newerBuild } from '../support/newer-build.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { decide, get, newcomer } from '../support/requests.ts';
import { steadyLoad } from '../support/steady-load.ts';

/**
 * Three nodes of two builds over one store: this build, and a copy with another version and a newer form of one change. The tests depend on
 * each other, in their order.
 */

const POLL = { timeout: 30_000, interval: 100 };
const COUNT = 3;
/** Choice: each request is seen, and the machine has room for the starts. */
const PER_SECOND = 30;

/** The first node also goes back once. */
const STEPS = [
  [0, 'newer'],
  [0, 'this'],
  [0, 'newer'],
  [1, 'newer'],
  [2, 'newer'],
] as const;

let redis: RedisServer;
let newer: Build;
let nodes: Nodes;
let balancer: Balancer;
/** By node: the program that its next start runs; undefined for this build. */
const mains: (string | undefined)[] = [];

beforeAll(async () => {
  [redis, newer] = [await startRedis(), newerBuild()];
  nodes = await startNodes({
    count: COUNT,
    storeUrl: redis.url,
    env: { GATEHOUSE_WORKERS: '1' },
    mainOf: (node) => mains[node],
  });
  balancer = await startBalancer(() => nodes.urls());
});

afterAll(async () => {
  await balancer.close();
  await nodes.stop();
  await redis.stop();
  newer.remove();
});

interface Ready {
  readonly version: string;
  readonly layers: Readonly<Record<string, { readonly state: string; readonly detail: string }>>;
}

async function readyOf(node: number): Promise<Ready> {
  return (await get(nodes.at(node).url, '/readyz')).json as unknown as Ready;
}

/** Waits until the node has joined, and all nodes know all others. */
async function sees(node: number, count: number): Promise<void> {
  const { url } = nodes.at(node);
  const alive = async (): Promise<string> => (await get(url, '/metrics')).text;
  await expect.poll(alive, POLL).toContain(`\ngatehouse_cluster_nodes ${count}\n`);
  await expect.poll(alive, POLL).toContain(`\ngatehouse_feed_nodes ${count}\n`);
}

/** Replaces a node as docs/scaling.md says: SIGTERM, then the other build on the same data directory. */
async function replace(node: number, build: Build | null): Promise<void> {
  await nodes.stopNode(node, 'SIGTERM');
  mains[node] = build?.main;
  await nodes.startNode(node);
  const shown = async (): Promise<unknown> => {
    const { layers } = await readyOf(node);
    return [layers['cluster']?.state, layers['feed']?.state];
  };
  await expect.poll(shown, POLL).toEqual(['ok', 'ok']);
  for (let each = 0; each < COUNT; each++) await sees(each, COUNT);
}

let seed = 0;
const blocked: string[] = [];

/** Adds a list entry through a node. */
async function put(node: number): Promise<{ readonly status: number; readonly hash: string }> {
  const hash = (++seed).toString(16).padStart(64, '0');
  const body = { fingerprint_hash: hash, action: 'block', note: `note ${seed}` };
  const { status } = await bearer(nodes.at(node).url, nodes.secretKey, 'POST', '/v1/lists', body);
  if (status === 201) blocked.push(hash);
  return { status, hash };
}

async function listed(node: number): Promise<readonly string[]> {
  const { json } = await bearer(nodes.at(node).url, nodes.secretKey, 'GET', '/v1/lists?limit=100');
  const rows = (json as unknown as { data: { fingerprint_hash: string; note: string }[] }).data;
  return rows.map(({ fingerprint_hash: hash, note }) => `${hash} ${note}`).toSorted();
}

const expected = (): readonly string[] => blocked.map((hash, n) => `${hash} note ${n + 1}`).toSorted();

/** Customers by the node that made them: one is enough, and each command is a process. */
const customers: string[] = [];

async function customerOf(node: number): Promise<string> {
  const words = ['--json', '--data-dir', nodes.at(node).dataDir, 'customers', 'create', `shop ${node}`];
  const made = await command(words, { env: nodes.env(node) });
  return (JSON.parse(made.out) as { customer_id: string }).customer_id;
}

/** Makes a list entry and a key through each node, and waits until all nodes have them. */
async function writeThroughAll(): Promise<void> {
  for (let node = 0; node < COUNT; node++) {
    expect((await put(node)).status).toBe(201);
    for (let each = 0; each < COUNT; each++) await expect.poll(() => listed(each), POLL).toEqual(expected());
    const customer = (customers[node] ??= await customerOf(node));
    const keyWords = ['--json', '--data-dir', nodes.at(node).dataDir, 'keys', 'create', '--customer', customer];
    const keys = await command(keyWords, { env: nodes.env(node) });
    const { secret_key: key } = JSON.parse(keys.out) as { secret_key: string };
    for (let each = 0; each < COUNT; each++)
      await expect.poll(async () => (await decide(nodes.at(each).url, key)).status, POLL).toBe(200);
  }
}

/** Version in which the newest list entry is in the stream of changes. */
async function versionWritten(): Promise<number> {
  const key = deriveKey(
    { bytes: Buffer.from(CLUSTER_MASTER_KEY, 'hex'), source: 'environment' },
    CLUSTER_VALUES_PURPOSE,
  );
  const link = await linkTo(redis.url);
  const cluster = String(await redis.command('HGET', HEAD_KEY, 'id'));
  const oldest = await firstFrom(link, 0);
  if (oldest.kind !== 'ok' || oldest.value === null) throw new Error('the stream cannot be read');
  const entries = await readAfter(link, { number: oldest.value.number - 1, part: null });
  await link.close();
  const opened = entries.kind === 'ok' ? entries.value.map((entry) => openEntry(key, cluster, entry)) : [];
  for (const entry of opened.toReversed()) {
    const [kind, version] = entry === null ? [] : unpack(entry.plain);
    if (kind === 'list.put') return Number(version);
  }
  throw new Error('no list entry is in the stream');
}

/** Sends decisions through the balancer while `work` runs. Returns statuses and the accepted ids. */
async function underLoad(work: () => Promise<void>): Promise<{ readonly statuses: unknown; readonly ids: string[] }> {
  const statuses: Record<number, number> = {};
  const ids: string[] = [];
  const progress = { isDone: false };
  const working = work().finally(() => (progress.isDone = true));
  while (!progress.isDone) {
    const figures = await steadyLoad(() => balancer.url, nodes.secretKey, { perSecond: PER_SECOND, seconds: 1 });
    for (const [status, count] of Object.entries(figures.statuses))
      statuses[Number(status)] = (statuses[Number(status)] ?? 0) + count;
    ids.push(...figures.accepted);
  }
  await working;
  return { statuses, ids };
}

/** Sends ids that were accepted once more, each to another node. */
async function replays(ids: readonly string[]): Promise<readonly number[]> {
  const every = Math.ceil(ids.length / 60);
  const sample = ids.filter((_id, n) => n % every === 0);
  const answers = await Promise.all(
    sample.map((requestId, n) => decide(nodes.at(n % COUNT).url, nodes.secretKey, newcomer(), { requestId })),
  );
  return [...new Set(answers.map(({ status }) => status))];
}

describe('nodes of two versions over one store', () => {
  test('Nodes are replaced one by one under load: no request fails, ids count once, and changes of either version are on both', async () => {
    for (let node = 0; node < COUNT; node++) await sees(node, COUNT);
    await writeThroughAll();
    const versions: number[] = [];
    const { statuses, ids } = await underLoad(async () => {
      for (const [node, build] of STEPS) {
        await replace(node, build === 'newer' ? newer : null);
        await writeThroughAll();
        versions.push(await versionWritten());
      }
    });
    expect(statuses).toEqual({ 200: ids.length });
    // The version that all know, until the last node is upgraded.
    expect(versions).toEqual([2, 2, 2, 2, 3]);
    for (let node = 0; node < COUNT; node++) expect((await readyOf(node)).version).toBe(newer.version);
    expect(await replays(ids)).toEqual([401]);
  }, 400_000);

  test('A node that goes back stops before the first change that it cannot read, says so, and continues when it is upgraded', async () => {
    await nodes.stopNode(2, 'SIGTERM');
    await put(0);
    mains[2] = undefined;
    const node = await nodes.startNode(2);
    const feed = async (): Promise<unknown> => (await readyOf(2)).layers['feed'];
    await expect.poll(feed, POLL).toMatchObject({
      state: 'broken',
      detail: expect.stringContaining('a newer node made a change that this one cannot read') as unknown,
    });
    expect(node.stdout()).toMatch(
      /change \d+ \(list\.put, version 3\) was written by a newer build; upgrade this node/,
    );
    expect((await put(2)).status).toBe(503);
    seed--;
    expect(await listed(2)).toEqual(expected().filter((row) => !row.startsWith(blocked.at(-1) ?? '')));
    // It decides, with what it has, and its ids are those of all.
    const requestId = randomUUID();
    const send = (at: number) => decide(nodes.at(at).url, nodes.secretKey, newcomer(), { requestId });
    expect([(await send(2)).status, (await send(0)).status]).toEqual([200, 401]);
    await replace(2, newer);
    await writeThroughAll();
  }, 200_000);
});
