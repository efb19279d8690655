import { parentPort, workerData } from 'node:worker_threads';
import { unreachable } from '../src/kernel/brand.ts';
import { yieldToDecisions } from '../src/kernel/background.ts';
import { touchPages } from '../src/velocity/memory.ts';
import { SnapshotWriter } from '../src/velocity/snapshot-writer.ts';
import type { TableOrder, TableReply, TableThreadData } from '../src/velocity/table-thread.ts';

/** The upkeep thread of the velocity table: touches its pages and writes its snapshots. The work itself is in `src/velocity`. */

yieldToDecisions();
const { folder, memory } = workerData as TableThreadData;
const writer = new SnapshotWriter(folder, memory);

parentPort?.on('message', (order: TableOrder) => {
  void run(order).then((reply) => parentPort?.postMessage(reply));
});

async function run(order: TableOrder): Promise<TableReply> {
  switch (order.kind) {
    case 'touch':
      await touchPages(memory, () => true);
      return { kind: 'touched' };
    case 'save':
      return { kind: 'snapshot', saved: await writer.save(order.nowMs) };
    default:
      return unreachable(order);
  }
}
