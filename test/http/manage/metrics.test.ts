import { readFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { HAS_REDIS, startRedis } from '../../support/redis.ts';
import { get } from '../../support/requests.ts';
import { startServer } from '../../support/server.ts';
import { sharedServer } from '../../support/shared-server.ts';

const closing: (() => unknown)[] = [];

afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

/** `<name> <kind>` of each metric that a server serves. */
async function metricsOf(url: string): Promise<readonly string[]> {
  const { text } = await get(url, '/metrics');
  return [...text.matchAll(/^# TYPE (gatehouse_\w+) (\w+)$/gm)].map(([, name, kind]) => `${name} ${kind}`);
}

const page = readFileSync('docs/operating.md', 'utf8');
const documented = [...page.matchAll(/^\| `(gatehouse_\w+)` +\| (\w+)/gm)].map(([, name, kind]) => `${name} ${kind}`);

test.skipIf(!HAS_REDIS)(
  'docs/operating.md documents every metric of a node over a shared store, with its kind, and no other',
  async () => {
    const redis = await startRedis();
    closing.push(() => redis.stop());
    const env = { GATEHOUSE_CLUSTER_URL: redis.url, GATEHOUSE_MASTER_KEY: '74657374'.repeat(8) };
    const node = await startServer({ env });
    closing.push(() => node.stop());
    expect(documented.toSorted()).toEqual((await metricsOf(node.url)).toSorted());
  },
);

test.each(['attacker.example', 'localhost.attacker.example', '127.0.0.1.attacker.example:8080', 'gatehouse'])(
  'Without a token, metrics are refused when Host is %s',
  async (host) => {
    const { url } = await sharedServer();
    expect((await get(url, '/metrics', { Host: host })).status).toBe(401);
  },
);

test.each(['localhost', 'localhost:8080', '127.0.0.1:1', '127.0.1.1', '[::1]:8080'])(
  'Without a token, metrics are served when Host is %s',
  async (host) => {
    const { url } = await sharedServer();
    expect((await get(url, '/metrics', { Host: host })).status).toBe(200);
  },
);

test('A server that works alone serves the same metrics without those of a cluster', async () => {
  const { url } = await sharedServer();
  const ofStore = /^gatehouse_(?:cluster|feed|velocity_exchange)_/;
  const others = documented.filter((metric) => !ofStore.test(metric));
  expect((await metricsOf(url)).toSorted()).toEqual(others.toSorted());
});
