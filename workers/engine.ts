import { workerData } from 'node:worker_threads';
import { CONNECTORS } from '../src/extract/connectors/connector-table.ts';
import type { EngineThreadData, EngineThreadTask } from '../src/extract/engine-messages.ts';
import { openExtractPool } from '../src/extract/extract-pool.ts';
import { createJobEngine } from '../src/extract/job-engine.ts';
import { serveEngine } from '../src/extract/serve-engine.ts';
import { yieldToDecisions } from '../src/kernel/background.ts';
import { openExtractStore } from '../src/state/extract-store.ts';

/** The extraction thread: the only writer of `extract/`. Stores jobs and runs them until it is stopped. */

yieldToDecisions();
const { recordsMax, ...data } = workerData as EngineThreadData;

export default async function run({ port }: EngineThreadTask): Promise<void> {
  const store = openExtractStore(data.dataDir);
  store.extractions.boundRecords(recordsMax);
  await serveEngine(port, (links) =>
    createJobEngine({ ...data, ...links, store, connectors: CONNECTORS, openPool: openExtractPool }),
  );
  await store.root.close();
}
