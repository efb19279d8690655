import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Link } from '../../src/cluster/store/link.ts';
import { type Nodes, startNodes } from '../support/cluster.ts';
import { command } from '../support/command-line.ts';
import { askAs, type Person, signIn } from '../support/dashboard.ts';
import { linkTo } from '../support/links.ts';
import { bearer } from '../support/manage.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { decide, get, newcomer } from '../support/requests.ts';
import { ask } from '../support/store-links.ts';

/** Two servers, and someone who copies everything in their store and later writes it back, key by key. */

const POLL = { timeout: 30_000, interval: 100 };

let redis: RedisServer;
let nodes: Nodes;

beforeAll(async () => {
  redis = await startRedis();
  nodes = await startNodes({ count: 2, storeUrl: redis.url, env: { GATEHOUSE_WORKERS: '1' } });
});
afterAll(async () => {
  await nodes.stop();
  await redis.stop();
});

type Copies = readonly (readonly [key: string, dump: Buffer])[];

async function copyAll(link: Link): Promise<Copies> {
  const keys = ((await ask(link, 'KEYS', '*')) as readonly Buffer[]).map(String);
  const copies: [string, Buffer][] = [];
  for (const key of keys) {
    const dump = await ask(link, 'DUMP', key);
    if (Buffer.isBuffer(dump)) copies.push([key, dump]);
  }
  return copies;
}

async function metric(node: number, name: string): Promise<number> {
  const { text } = await get(nodes.at(node).url, '/metrics');
  const lines = text.split('\n').filter((line) => line.startsWith(name) && !line.startsWith('#'));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

const statusOf = async ({ cookie }: Person, node: number): Promise<number> =>
  (await askAs(nodes.at(node).url, cookie, 'GET', '/dashboard/api/session')).status;

test('Copies of everything in the store that are written back bring nothing back, and end no node', async () => {
  const link = await linkTo(redis.url);
  const [first, second] = [nodes.at(0).url, nodes.at(1).url];
  for (const node of [0, 1]) await expect.poll(() => metric(node, 'gatehouse_cluster_nodes '), POLL).toBe(2);
  const copies: Copies[] = [];
  const person = await signIn(first, { key: nodes.secretKey });
  copies.push(await copyAll(link));
  expect([await statusOf(person, 0), await statusOf(person, 1)]).toEqual([200, 200]);
  const made = await command(['--json', '--data-dir', nodes.at(0).dataDir, 'dashboard', 'link'], {
    env: nodes.env(0),
  });
  const [, code = ''] = /#code=([\w-]{43})/.exec(made.out) ?? [];
  copies.push(await copyAll(link));
  const other = await signIn(second, { code });
  const hash = 'ab'.repeat(32);
  const entry = { fingerprint_hash: hash, action: 'block' };
  expect((await bearer(first, nodes.secretKey, 'POST', '/v1/lists', entry)).status).toBe(201);
  const body = newcomer();
  for (let n = 0; n < 5; n++) expect((await decide(first, nodes.secretKey, body)).status).toBe(200);
  await expect.poll(() => metric(1, 'gatehouse_velocity_exchange_applied_total '), POLL).toBeGreaterThanOrEqual(5);
  copies.push(await copyAll(link));
  expect((await bearer(first, nodes.secretKey, 'DELETE', `/v1/lists/${hash}`)).status).toBe(204);
  for (const each of [person, other]) await each.ask('POST', '/dashboard/logout', {});
  const applied = await metric(1, 'gatehouse_velocity_exchange_applied_total ');
  for (const copy of copies) {
    for (const [key, dump] of copy) await ask(link, 'RESTORE', key, '0', dump, 'REPLACE');
    await sleep(2_000);
  }
  // Batches of events once more, behind the end of their streams.
  for (const [key] of copies.at(-1)?.filter(([name]) => name.endsWith(':events')) ?? []) {
    const entries = (await ask(link, 'XRANGE', key, '-', '+')) as unknown as readonly [Buffer, readonly Buffer[]][];
    for (const [, fields] of entries) await ask(link, 'XADD', key, '*', ...fields);
  }
  await expect.poll(() => metric(1, 'gatehouse_cluster_refused_values_total{kind="event"}'), POLL).toBeGreaterThan(4);
  for (const node of [0, 1]) {
    const { url } = nodes.at(node);
    expect([await statusOf(person, node), await statusOf(other, node)]).toEqual([401, 401]);
    expect((await askAs(url, '', 'POST', '/dashboard/session', { code })).status).toBe(401);
    await expect.poll(async () => (await get(url, '/readyz')).status, POLL).toBe(200);
    await expect.poll(() => metric(node, 'gatehouse_cluster_nodes '), POLL).toBe(2);
    const { json } = await bearer(url, nodes.secretKey, 'GET', '/v1/lists');
    expect(json['data']).toEqual([]);
  }
  expect(await metric(1, 'gatehouse_velocity_exchange_applied_total ')).toBe(applied);
  await link.close();
}, 120_000);
