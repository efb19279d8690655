import { afterAll, beforeAll } from 'vitest';
import { openNodes, type TestNode } from '../../unit/cluster/nodes.ts';
import { startStore, type StoreServer } from '../../support/store-links.ts';
import { describeHistoryStats, type HistoryStatsSubject } from './history-stats.ts';
import { countIn } from './count-event.ts';

let server: StoreServer;
beforeAll(async () => {
  server = await startStore();
});
afterAll(() => server.stop());

describeHistoryStats('three nodes over one store', async () => subjectOf(await openNodes(server, 3)));

function subjectOf(nodes: readonly TestNode[]): HistoryStatsSubject {
  return {
    nodes: nodes.map(({ stats, allStats }) => ({ stats: allStats, count: (event) => countIn(stats, event) })),
    settled: () => Promise.resolve(),
    async restart() {
      for (const node of nodes) await node.stop();
      return subjectOf(await openNodes(server, 3, { folders: nodes.map(({ folder }) => folder) }));
    },
  };
}
