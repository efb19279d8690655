import { parentPort, workerData } from 'node:worker_threads';
import { EncryptedValues } from '../src/cluster/store/encrypted-values.ts';
import { openLink } from '../src/cluster/store/redis-link.ts';
import { VelocityExchange } from '../src/cluster/velocity/velocity-exchange.ts';
import { VelocityReader } from '../src/cluster/velocity/velocity-reader.ts';
import { unreachable } from '../src/kernel/brand.ts';
import { yieldToDecisions } from '../src/kernel/background.ts';
import { type ExchangeSeed, touchPages } from '../src/velocity/memory.ts';
import { SnapshotWriter } from '../src/velocity/snapshot-writer.ts';
import type { TableOrder, TableReply, TableThreadData } from '../src/velocity/table-thread.ts';

/**
 * The upkeep thread of the velocity table: touches its pages, writes its snapshots, and follows the events of other nodes. The work itself
 * is in `src/velocity` and `src/cluster/velocity`.
 */

/** Choice: the time after which a node serves although it has not read everything; it reads some 100,000 events a second. */
const CATCH_UP_MS = 5_000;

yieldToDecisions();
const { folder, memory, exchange } = workerData as TableThreadData;
const writer = new SnapshotWriter(folder, memory);
const reader = exchange === null ? null : openReader(exchange);

parentPort?.on('message', (order: TableOrder) => {
  void run(order).then((reply) => parentPort?.postMessage(reply));
});

async function run(order: TableOrder): Promise<TableReply> {
  switch (order.kind) {
    case 'touch':
      await touchPages(memory, () => true);
      return { kind: 'touched' };
    case 'catch_up': {
      const isComplete = (await reader?.catchUp(CATCH_UP_MS)) ?? true;
      reader?.start();
      return { kind: 'caught_up', isComplete };
    }
    case 'stop_following':
      await reader?.close();
      return { kind: 'stopped' };
    case 'save':
      // A thread that replaces a dead one begins to follow here; a reader that was closed stays so.
      reader?.start();
      return { kind: 'snapshot', saved: await writer.save(order.nowMs) };
    default:
      return unreachable(order);
  }
}

function openReader({ address, valuesKey }: ExchangeSeed): VelocityReader {
  const link = openLink(address);
  const values = new EncryptedValues(valuesKey);
  return new VelocityReader(memory, new VelocityExchange({ memory, values, link }), link);
}
