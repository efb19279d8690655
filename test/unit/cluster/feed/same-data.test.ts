import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { apply } from '../../../../src/state/feed/apply.ts';
import { STATE_BOUNDS } from '../../../../src/state/tables/state-tables.ts';
import { randomChanges, seeded, CHANGES_FROM_MS } from '../../../support/any-change.ts';
import { caughtUp, type FeedNode, openNode, rowsOf, until } from '../../../support/feeds.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../../../support/redis.ts';
import { hashOf, customer, tempStore, value } from '../../state/support.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(() => redis.flush());

/** Small enough that the sequences reach them. */
const BOUNDS = {
  listEntries: 40,
  labels: 5,
  shadowReviews: 4,
  sightings: 9,
  sightingsAutomatic: 6,
  auditEntries: 30,
  webhooks: 3,
};
const ORIGIN = { by: 'service', nowMs: CHANGES_FROM_MS } as const;

describe.runIf(HAS_REDIS)('the data of all nodes', () => {
  test('Changes of every kind leave the same bytes in two stores that apply them', () => {
    const [one, other] = [tempStore(), tempStore()];
    const changes = randomChanges(seeded(1));
    for (let n = 0; n < 1_500; n++) {
      const { change, origin } = changes.next().value ?? never();
      const bounds = { ...STATE_BOUNDS, ...BOUNDS };
      const outcomes = [one, other].map(({ state, tables }) =>
        state.transactionSync(() => apply(tables, change, origin, bounds)),
      );
      expect(outcomes[0]).toEqual(outcomes[1]);
    }
    expect(rowsOf(one).length).toBeGreaterThan(100);
    expect(rowsOf(one)).toEqual(rowsOf(other));
  });

  test.each([11, 12])(
    'Changes of every kind that all nodes make at once leave the same bytes on all, seed %i',
    async (seed) => {
      const nodes = [await openNode(redis.url, { bounds: BOUNDS }), await openNode(redis.url, { bounds: BOUNDS })];
      const random = seeded(seed);
      const changes = randomChanges(random);
      const commitSome = async (count: number): Promise<void> => {
        const writes = Array.from({ length: count }, () => {
          const { change, origin } = changes.next().value ?? never();
          const { feed } = nodes[random(nodes.length)] ?? never();
          return value(feed.commit(change, origin, { until: random(2) === 0 ? 'visible' : 'durable' }));
        });
        await Promise.all(writes);
      };
      await commitSome(300);
      // A node that joins in the middle gets a snapshot and then the changes.
      const joining = openNode(redis.url, { bounds: BOUNDS });
      await commitSome(100);
      nodes.push(await joining);
      await commitSome(300);
      await caughtUp(nodes);
      const rows = nodes.map(({ store }) => rowsOf(store));
      expect(rows[0]?.length).toBeGreaterThan(100);
      for (const other of rows) expect(other).toEqual(rows[0]);
    },
  );

  test('A batch of 1,000 entries is written in parts, and all nodes have the same rows', async () => {
    const nodes = [await openNode(redis.url), await openNode(redis.url)];
    const entries = Array.from({ length: 1_000 }, (_none, n) => ({
      fingerprintHash: hashOf(n),
      action: 'block' as const,
      note: `note ${n} `.repeat(8),
      expiresAtSeconds: null,
    }));
    const put = { kind: 'list.batch', customer: customer(1), entries } as const;
    const outcome = await value(nodes[0]?.feed.commit(put, ORIGIN) ?? never());
    expect(outcome).toHaveLength(1_000);
    // Again: every entry exists now.
    const again = await value(nodes[1]?.feed.commit(put, ORIGIN) ?? never());
    expect(again === 'limit_reached' || again.some(({ created }) => created)).toBe(false);
    await caughtUp(nodes);
    expect(rowsOf(nodes[0]?.store ?? never())).toEqual(rowsOf(nodes[1]?.store ?? never()));
    const stream = (await redis.command('XRANGE', '{gh:feed}:changes', '-', '+')) as readonly [string, string[]][];
    expect(stream.length).toBeGreaterThanOrEqual(20);
    for (const [, fields] of stream) expect(String(fields.at(-1)).length).toBeLessThan(65_536);
  });

  test('A batch beyond the limit changes nothing on any node', async () => {
    const nodes = [await openNode(redis.url, { bounds: BOUNDS }), await openNode(redis.url, { bounds: BOUNDS })];
    const entries = Array.from({ length: 60 }, (_none, n) => ({
      fingerprintHash: hashOf(n),
      action: 'block' as const,
      note: null,
      expiresAtSeconds: null,
    }));
    const put = { kind: 'list.batch', customer: customer(1), entries } as const;
    expect(await value(nodes[1]?.feed.commit(put, ORIGIN) ?? never())).toBe('limit_reached');
    await caughtUp(nodes);
    for (const { store } of nodes) expect(rowsOf(store)).toEqual([]);
  });

  test('Data and position are stored together: a node that is killed at any moment continues without a gap or a repetition', async () => {
    const nodes = [await openNode(redis.url), await openNode(redis.url)];
    const [first, second] = nodes as [FeedNode, FeedNode];
    const changes = randomChanges(seeded(5));
    const images: string[] = [];
    for (let round = 0; round < 6; round++) {
      const writes = Array.from({ length: 60 }, () => {
        const { change, origin } = changes.next().value ?? never();
        return value(first.feed.commit(change, origin));
      });
      await until(() => second.feed.position > round * 60 + 5);
      // What the disk has while the second node applies: the file as a kill leaves it.
      const folder = mkdtempSync(join(tmpdir(), 'gatehouse-image-'));
      mkdirSync(join(folder, 'state'));
      await second.store.state.backup(join(folder, 'state'), false);
      images.push(folder);
      await Promise.all(writes);
    }
    await caughtUp(nodes);
    for (const folder of images) {
      const restarted = await openNode(redis.url, { dataDir: folder });
      expect(restarted.opened).toMatchObject({ kind: 'ok', how: 'continued' });
      await caughtUp([first, restarted]);
      expect(rowsOf(restarted.store)).toEqual(rowsOf(first.store));
      await restarted.close();
    }
  });
});

function never(): never {
  throw new Error('not expected');
}
