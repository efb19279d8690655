import { workerData } from 'node:worker_threads';
import type { Link } from '../src/cluster/store/link.ts';
import { openLink, openWaitingLink } from '../src/cluster/store/redis-link.ts';
import { RedisPoliteness } from '../src/cluster/jobs/redis-politeness.ts';
import { openSharedExtraction } from '../src/cluster/jobs/shared-extraction.ts';
import { CONNECTORS } from '../src/extract/connectors/connector-table.ts';
import type { EngineCluster, EngineThreadData, EngineThreadTask } from '../src/extract/engine/engine-messages.ts';
import { openExtractWorker } from '../src/extract/engine/extract-worker.ts';
import { encodeFirst } from '../src/extract/base/first-answer.ts';
import { createJobEngine } from '../src/extract/engine/job-engine.ts';
import { sessionChange } from '../src/extract/engine/result-parts.ts';
import { type EngineLinks, serveEngine } from '../src/extract/engine/serve-engine.ts';
import { yieldToDecisions } from '../src/kernel/background.ts';
import { type ExtractStore, openExtractStore } from '../src/state/tables/extract-store.ts';
import type { SharedJobs } from '../src/state/tables/shared-jobs.ts';

/** The extraction thread: the only writer of `extract/`. Stores jobs and runs them until it is stopped. */

yieldToDecisions();
const { cluster = null, ...data } = workerData as EngineThreadData;

export default async function run({ port }: EngineThreadTask): Promise<void> {
  const store = openExtractStore(data.dataDir);
  const links = cluster === null ? null : openLinks(cluster);
  await serveEngine(port, (engineLinks) =>
    createJobEngine({
      ...data,
      ...engineLinks,
      store,
      shared: cluster && links && openShared(store, cluster, links, engineLinks),
      connectors: CONNECTORS,
      openWorker: openExtractWorker,
    }),
  );
  await store.root.close();
}

interface Links {
  readonly link: Link;
  readonly reader: Link;
}

function openLinks({ urls, user, password }: EngineCluster): Links {
  const address = { urls, user, password };
  return { link: openLink(address), reader: openWaitingLink(address) };
}

/** Connects the engine to the jobs of the other nodes. */
function openShared(
  store: ExtractStore,
  { node, key }: EngineCluster,
  { link, reader }: Links,
  { log, onStoreFault }: EngineLinks,
): SharedJobs {
  let nodes = 1;
  const shared = openSharedExtraction({
    store,
    link,
    reader,
    key,
    node,
    runsJobs: data.runsJobs,
    functions: { encryptionKey: data.encryptionKey, answer: encodeFirst, sessionChange },
    politeness: new RedisPoliteness({ link, key, limits: data.polite, nodes: () => nodes }),
    nowMs: () => Date.now(),
    onFault: onStoreFault,
    onPutBack: (entries) =>
      log.warn({ entries }, 'the shared store had lost the newest entries of the log of extractions; put them back'),
    onGap: (from, to) =>
      log.error(
        { from, to },
        'entries of the log of extractions are missing here; taking all extractions from another node',
      ),
    onUnknown: (number, format) =>
      log.error({ number, format }, 'a newer build wrote to the log of extractions; upgrade this node'),
  });
  return {
    ...shared,
    get isStopped() {
      return shared.isStopped;
    },
    setNodes(live) {
      nodes = live.filter(({ runsJobs }) => runsJobs).length;
      shared.setNodes(live);
    },
  };
}
