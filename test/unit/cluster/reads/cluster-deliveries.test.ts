import { afterAll, beforeAll, expect, test } from 'vitest';
import { ClusterDeliveries } from '../../../../src/cluster/reads/cluster-deliveries.ts';
import type { Delivery, DeliveryId } from '../../../../src/work/webhook.ts';
import { ALL, delivery, NOW } from '../../state/deliveries-support.ts';
import { customer, value } from '../../state/support.ts';
import { openNodes, type TestNode } from '../nodes.ts';
import { startStore, type StoreServer } from '../../../support/store-links.ts';

let server: StoreServer;
beforeAll(async () => {
  server = await startStore();
});
afterAll(() => server.stop());

interface LogNode extends TestNode {
  readonly all: ClusterDeliveries;
  add(...rows: readonly Delivery[]): Promise<void>;
}

async function openLogs(): Promise<readonly [LogNode, LogNode, LogNode]> {
  const nodes = await openNodes(server, 3);
  const [a, b, c] = nodes.map((node): LogNode => {
    const { deliveries } = node.store;
    const own = {
      settled: () => deliveries.settled(),
      find: deliveries.find.bind(deliveries),
      page: deliveries.page.bind(deliveries),
    };
    return {
      ...node,
      all: new ClusterDeliveries(own, node.peers),
      async add(...rows) {
        await value(deliveries.insert(rows, 0));
      },
    };
  });
  if (a === undefined || b === undefined || c === undefined) throw new Error('there are three nodes');
  return [a, b, c];
}

/** Pages through all deliveries of customer 1. */
async function walk({ all }: LogNode, limit: number, query = ALL): Promise<readonly DeliveryId[]> {
  const ids: DeliveryId[] = [];
  for (let after: DeliveryId | null = null; ;) {
    const page = await all.page(customer(1), { ...query, after, limit });
    if (page.kind === 'busy') throw new Error('busy');
    expect(page.rows.length).toBeLessThanOrEqual(limit);
    ids.push(...page.rows.map(({ id }) => id));
    if (page.next === null) return ids;
    after = page.next;
  }
}

test('Pages of any size through any node show the deliveries of all nodes, newest first and each once', async () => {
  const nodes = await openLogs();
  const rows = Array.from({ length: 60 }, (_none, n) => delivery(1, {}, NOW + n * 10));
  for (const [n, row] of rows.entries()) await nodes[n % 7 === 0 ? 0 : n % 2 === 0 ? 1 : 2].add(row);
  await nodes[0].add(delivery(2));
  const newestFirst = rows.map(({ id }) => id).toReversed();
  for (const node of nodes) for (const limit of [1, 7, 100]) expect(await walk(node, limit)).toEqual(newestFirst);
});

test('Filters hold on all nodes', async () => {
  const [a, b, c] = await openLogs();
  const rows = [delivery(1, { status: 'failed', error: 'timeout' }), delivery(1, { event: 'ALLOW' }), delivery(1)];
  for (const [n, node] of [a, b, c].entries()) await node.add(rows[n] ?? delivery(1));
  expect(await walk(a, 10, { ...ALL, status: 'failed' })).toEqual([rows[0]?.id]);
  expect(await walk(a, 10, { ...ALL, event: 'ALLOW' })).toEqual([rows[1]?.id]);
  expect(await walk(c, 10, { ...ALL, requestId: rows[1]?.requestId ?? '' })).toEqual([rows[1]?.id]);
});

test('A delivery is found through every node, and never by another customer', async () => {
  const [a, b, c] = await openLogs();
  const row = delivery(1);
  await a.add(row);
  for (const { all } of [a, b, c]) expect(await all.find(customer(1), row.id)).toEqual(row);
  expect(await b.all.find(customer(2), row.id)).toBeNull();
});

test('A delivery that was taken over shows as its new node has it', async () => {
  const [a, b, c] = await openLogs();
  const row = delivery(1);
  await a.add(row);
  const attempt = { attempt: 1, startedAtMs: NOW, durationMs: 1, statusCode: 200, error: null };
  const sent: Delivery = { ...row, status: 'succeeded', attempts: [attempt], completedAtMs: NOW };
  await b.add(sent);
  expect(await walk(c, 10)).toEqual([row.id]);
  expect(await c.all.find(customer(1), row.id)).toMatchObject({ status: 'succeeded' });
});

test('A dead node makes nothing fail: its deliveries are missing, and the answers are marked', async () => {
  const [a, b, c] = await openLogs();
  const [lost, kept] = [delivery(1), delivery(1)];
  await a.add(lost);
  await b.add(kept);
  const before = { isPartial: false };
  await c.all.page(customer(1), { ...ALL, after: null, limit: 10 }, before);
  await c.all.find(customer(2), lost.id, before);
  expect(before.isPartial).toBe(false);
  await a.kill();
  expect(await walk(c, 10)).toEqual([kept.id]);
  const [page, found] = [{ isPartial: false }, { isPartial: false }];
  await c.all.page(customer(1), { ...ALL, after: null, limit: 10 }, page);
  expect(await c.all.find(customer(1), lost.id, found)).toBeNull();
  expect([page, found]).toEqual([{ isPartial: true }, { isPartial: true }]);
}, 20_000);
