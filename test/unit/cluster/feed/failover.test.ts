import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newCustomer } from '../../../../src/state/feed/key-changes.ts';
import { CHANGES_FROM_MS } from '../../../support/any-change.ts';
import { caughtUp, openNode, rowsOf, until } from '../../../support/feeds.ts';
import { HAS_REDIS, type RedisCluster, startRedisCluster } from '../../../support/redis.ts';

let store: RedisCluster;
beforeAll(async () => {
  store = await startRedisCluster();
}, 60_000);
afterAll(() => store.stop());

const ORIGIN = { by: 'service', nowMs: CHANGES_FROM_MS } as const;

describe.runIf(HAS_REDIS)('a store of several servers', () => {
  test('A replica that takes over loses no confirmed change and repeats none, and all nodes have the same data', async () => {
    const one = await openNode(store.url);
    const other = await openNode(store.url);
    const confirmed: string[] = [];
    let made = 0;
    const commitAll = async (from: number): Promise<void> => {
      const { feed } = from === 0 ? one : other;
      for (let n = from; n < from + 150; n++) {
        const change = newCustomer(`c${n}`, CHANGES_FROM_MS);
        const write = await feed.commit(change, ORIGIN);
        made++;
        if (write.kind === 'ok') confirmed.push(change.id);
      }
    };
    const all = Promise.all([commitAll(0), commitAll(1_000)]);
    await until(() => made > 60);
    await (await store.primaryOf('{gh:feed}:head')).kill();
    await all;
    await until(() => one.feed.state.kind === 'current' && other.feed.state.kind === 'current', 60_000);
    await caughtUp([one, other]);
    const customers = one.store.tables.customers.all();
    const ids = new Set<string>(customers.map(({ id }) => id));
    expect(confirmed.filter((id) => !ids.has(id))).toEqual([]);
    expect(new Set(customers.map(({ name }) => name)).size).toBe(customers.length);
    expect(rowsOf(one.store)).toEqual(rowsOf(other.store));
  }, 180_000);
});
