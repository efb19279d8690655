import { afterAll, beforeAll } from 'vitest';
import type { History } from '../../../src/ports/decision-history.ts';
import { decodeRecord } from '../../../src/risk/decision-record.ts';
import { openNodes, type TestNode } from '../../unit/cluster/nodes.ts';
import { startStore, type StoreServer } from '../../support/store-links.ts';
import { historyConformance } from './history.ts';

let server: StoreServer;
beforeAll(async () => {
  server = await startStore();
});
afterAll(() => server.stop());

historyConformance(() => spread(openNodes(server, 3)));

/**
 * Three nodes as one: decisions of different times arrive at different nodes, and each read asks the next node. Decisions of one
 * millisecond arrive at the same node, because only a node knows in which order they arrived.
 */
function spread(opening: Promise<readonly TestNode[]>): History {
  const waiting: Promise<void>[] = [];
  let turn = 0;
  const nextNode = async (): Promise<TestNode> => {
    const nodes = await opening;
    await Promise.all(waiting);
    const node = nodes[turn++ % nodes.length];
    if (node === undefined) throw new Error('there are no nodes');
    return node;
  };
  return {
    append(customer, record, latencyMs, isFlagged) {
      const copy = Buffer.from(record);
      const { occurredAtMs } = decodeRecord(copy);
      const append = async (): Promise<void> => {
        const nodes = await opening;
        nodes[occurredAtMs % nodes.length]?.history.append(customer, copy, latencyMs, isFlagged);
      };
      waiting.push(append());
    },
    find: async (...args) => (await nextNode()).history.find(...args),
    search: async (...args) => (await nextNode()).history.search(...args),
  };
}
