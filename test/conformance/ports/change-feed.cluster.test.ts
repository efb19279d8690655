import { afterAll, beforeAll, describe } from 'vitest';
import { caughtUp, type FeedNode, openNode } from '../../support/feeds.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../../support/redis.ts';
import { type ChangeFeedSubject, describeChangeFeed } from './change-feed.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

describe.runIf(HAS_REDIS)('over a real store', () => {
  for (const count of [2, 3]) {
    const nodes: FeedNode[] = [];
    describeChangeFeed(`${count} nodes over one store`, async (bounds) => {
      // A property opens new nodes for each of its runs.
      for (const node of nodes.splice(0)) await node.close();
      await redis.flush();
      for (let n = 0; n < count; n++) nodes.push(await openNode(redis.url, { bounds, node: `n${n}` }));
      return subjectOf(nodes, bounds);
    });
  }
});

function subjectOf(nodes: readonly FeedNode[], bounds: { listEntries: number; webhooks: number }): ChangeFeedSubject {
  return {
    nodes: nodes.map(({ feed, store }) => ({ feed, tables: store.tables })),
    caughtUp: () => caughtUp(nodes),
    async restart() {
      for (const node of nodes) await node.close();
      const again: FeedNode[] = [];
      for (const { dataDir, id } of nodes) again.push(await openNode(redis.url, { bounds, node: id, dataDir }));
      return subjectOf(again, bounds);
    },
  };
}
