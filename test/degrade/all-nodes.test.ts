import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { bearer } from '../support/manage.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { decide, get } from '../support/requests.ts';
import { type RunningServer, startNode } from '../support/server.ts';

/** Three nodes over one store: what any of them decided is shown by all. */
const MASTER_KEY = '74657374'.repeat(8);
const POLL = { timeout: 30_000, interval: 100 };
const NAMES = ['one', 'two', 'three'] as const;

let redis: RedisServer;
let folder = '';
let secretKey = '';
let nodes: RunningServer[] = [];

const start = (name: string): Promise<RunningServer> =>
  startNode({
    dataDir: join(folder, name),
    env: {
      GATEHOUSE_MASTER_KEY: MASTER_KEY,
      GATEHOUSE_CLUSTER_URL: redis.url,
      GATEHOUSE_NODE_ID: name,
      GATEHOUSE_WORKERS: '1',
    },
  });

beforeAll(async () => {
  redis = await startRedis();
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-nodes-'));
  const first = await start('one');
  ({ secretKey } = first);
  await first.stop();
  for (const name of NAMES.slice(1)) cpSync(join(folder, 'one'), join(folder, name), { recursive: true });
  nodes = await Promise.all(NAMES.map((name) => start(name)));
  for (const node of nodes) await vi.waitUntil(() => sees(node, 3), POLL);
});

afterAll(async () => {
  await Promise.all(nodes.map((server) => server.stop('SIGKILL')));
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function sees({ url }: RunningServer, count: number): Promise<boolean> {
  return (await get(url, '/metrics')).text.includes(`\ngatehouse_cluster_nodes ${count}\n`);
}

interface Read {
  readonly status: number;
  readonly isPartial: boolean;
  readonly body: Readonly<Record<string, unknown>>;
}

async function read({ url }: RunningServer, path: string): Promise<Read> {
  const { status, headers, json } = await bearer(url, secretKey, 'GET', path);
  return { status, isPartial: headers['x-svc-partial'] === '1', body: json };
}

async function idsFrom(
  node: RunningServer,
  limit: number,
): Promise<{ readonly ids: string[]; readonly isPartial: boolean }> {
  const ids: string[] = [];
  let isPartial = false;
  let cursor: unknown = '';
  do {
    const page = await read(node, `/v1/decisions?limit=${limit}${cursor === '' ? '' : `&cursor=${String(cursor)}`}`);
    expect(page.status).toBe(200);
    ids.push(...(page.body['data'] as { request_id: string }[]).map(({ request_id: id }) => id));
    isPartial ||= page.isPartial;
    cursor = page.body['next_cursor'];
  } while (cursor !== null);
  return { ids, isPartial };
}

describe('three nodes, asked over the API', () => {
  const ids: string[] = [];

  test('Decisions, statistics, links, top lists and labels are those of all nodes, seen from any', async () => {
    for (let n = 0; n < 12; n++) {
      const { json } = await decide(nodes[n % 3]?.url ?? '', secretKey);
      ids.push((json as { request_id: string }).request_id);
    }
    for (const node of nodes) {
      expect(await idsFrom(node, 5)).toEqual({ ids: ids.toReversed(), isPartial: false });
      for (const id of ids) expect((await read(node, `/v1/decisions/${id}`)).status).toBe(200);
      const stats = await read(node, '/v1/stats?step=60');
      const points = stats.body['points'] as { decisions: Record<string, number> }[];
      expect(points.flatMap(({ decisions }) => Object.values(decisions)).reduce((a, b) => a + b, 0)).toBe(12);
      expect(await read(node, '/v1/top?by=event_type&count=decisions')).toMatchObject({
        status: 200,
        body: { decisions: 12, is_truncated: false },
      });
      const after = await read(node, `/v1/decisions?after=${ids[8]}`);
      const newer = (after.body['data'] as { request_id: string }[]).map(({ request_id: id }) => id);
      expect(newer.slice(0, 3)).toEqual(ids.slice(9).toReversed());
      expect(newer).not.toContain(ids[8]);
    }
    const labelled = await bearer(nodes[0]?.url ?? '', secretKey, 'POST', '/v1/labels', {
      request_id: ids[1],
      label: 'fraud',
    });
    expect(labelled.status).toBe(201);
  });

  test('An outcome counts wherever it is reported, and an unknown one nowhere', async () => {
    for (const node of nodes) {
      const outcomes = [...ids, `${ids[0]?.slice(0, -1)}Z`].map((id) => ({ request_id: id, outcome: 'failed' }));
      const reported = await bearer(node.url, secretKey, 'POST', '/v1/outcomes', { outcomes });
      expect(reported.json).toEqual({ accepted: 12, rejected: [{ index: 12, code: 'unknown_request' }] });
    }
  });

  test('A second node with an id that is in use is refused with a clear message', async () => {
    const starting = startNode({
      dataDir: join(folder, 'empty'),
      env: { GATEHOUSE_MASTER_KEY: MASTER_KEY, GATEHOUSE_CLUSTER_URL: redis.url, GATEHOUSE_NODE_ID: 'one' },
    });
    await expect(starting).rejects.toThrow(/another node with the id one is running/);
  });

  test('A node that is paused makes the answer partial within the deadline, and a killed one too', async () => {
    const [one, two, three] = nodes;
    if (one === undefined || two === undefined || three === undefined) throw new Error('there are three nodes');
    process.kill(three.pid, 'SIGSTOP');
    const startedMs = performance.now();
    const { ids: found, isPartial } = await idsFrom(one, 100);
    expect(performance.now() - startedMs).toBeLessThan(4_000);
    expect([found, isPartial]).toEqual([ids.filter((_, n) => n % 3 !== 2).toReversed(), true]);
    expect(await read(two, '/v1/stats?step=60')).toMatchObject({ status: 200, isPartial: true });
    expect(await read(two, `/v1/decisions/${ids[2]}`)).toMatchObject({ status: 404, isPartial: true });
    process.kill(three.pid, 'SIGCONT');
    await vi.waitFor(
      async () => expect(await idsFrom(one, 100)).toEqual({ ids: ids.toReversed(), isPartial: false }),
      POLL,
    );
    await three.stop('SIGKILL');
    await vi.waitUntil(() => sees(one, 2), POLL);
    expect(await idsFrom(one, 2)).toEqual({ ids: ids.filter((_, n) => n % 3 !== 2).toReversed(), isPartial: true });
    nodes[2] = await start('three');
    await vi.waitFor(
      async () => expect(await idsFrom(two, 7)).toEqual({ ids: ids.toReversed(), isPartial: false }),
      POLL,
    );
  });
});
