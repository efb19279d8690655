import type { ListeningAddress } from '../egress/public-address.ts';
import { CONNECTORS } from '../extract/connectors/connector-table.ts';
import { type Extractions, openExtractions as openThread } from '../extract/door/extraction-thread.ts';
import { extractionHandlers } from '../api/extractions/extraction-handlers.ts';
import { EXTRACT_USER_AGENT } from '../kernel/limits.ts';
import { endpointAfter } from '../api/kit/endpoint-after.ts';
import type { EngineCluster } from '../extract/engine/engine-messages.ts';
import type { EndpointFactory } from '../api/kit/endpoint-factory.ts';
import type { Cursors } from '../api/kit/paging.ts';
import type { Log } from '../observe/log.ts';
import { hasRole } from './roles.ts';
import type { Settings } from './settings.ts';
import type { Store } from '../state/feed/open-store.ts';
import { createTargetCheck } from './target-check.ts';
import { reportFaults } from './maintenance.ts';

export { CONNECTORS_WITH_BASE } from '../extract/connectors/connector-table.ts';

/** Wires extraction: the extraction thread, and the endpoints that use it. */

export interface ExtractionWiring {
  readonly store: Store;
  readonly settings: Settings;
  /** Encrypts sessions and the secrets of destinations. */
  readonly key: Uint8Array;
  /** The cluster whose jobs this node shares; null on a node that works alone. */
  readonly cluster?: EngineCluster | null;
  readonly log: Log;
}

export interface OpenExtractions extends Extractions {
  /** Addresses on which this service listens; empty before it does. */
  listening(): readonly ListeningAddress[];
  /** Whether other nodes write jobs as well. */
  readonly isShared: boolean;
  /** Settings that requests are checked against. */
  readonly settings: Pick<Settings, 'connectorBases'>;
}

export function openExtractionService({
  store,
  settings,
  key,
  cluster = null,
  log,
}: ExtractionWiring): OpenExtractions {
  if (store.extract === null) throw new Error('extraction needs the store open for writing');
  const extractions = openThread({
    store: store.extract,
    data: {
      dataDir: settings.dataDir,
      encryptionKey: key,
      worker: { egressAllow: settings.egressAllow, userAgent: EXTRACT_USER_AGENT, bases: settings.connectorBases },
      polite: { gapMs: settings.extractHostGapMs, concurrency: settings.extractHostConcurrency },
      bounds: { runningPerCustomerMax: settings.extractJobsPerCustomer },
      runsJobs: hasRole(settings.roles, 'extract'),
      cluster,
    },
    log,
    onStoreFaults: (faults) => reportFaults(faults, log),
  });
  let listening: readonly ListeningAddress[] = [];
  return {
    ...extractions,
    settings,
    isShared: cluster !== null,
    listening: () => listening,
    listens(addresses) {
      listening = addresses;
      extractions.listens(addresses);
    },
  };
}

export function extractHandlers(
  endpoint: EndpointFactory,
  parts: { readonly extractions: OpenExtractions; readonly cursors: Cursors; readonly egressAllow: readonly string[] },
): ReturnType<typeof extractionHandlers> {
  const { extractions, cursors, egressAllow } = parts;
  const isShared = extractions.isShared;
  const synced = isShared ? endpointAfter(endpoint, async () => void (await extractions.caughtUp())) : endpoint;
  const ofAllNodes = isShared
    ? endpointAfter(endpoint, async ({ coverage }) => {
        if (!(await extractions.caughtUp())) coverage.isPartial = true;
      })
    : endpoint;
  return extractionHandlers(synced, {
    ofAllNodes,
    control: extractions.control,
    connectors: CONNECTORS,
    cursors,
    checkTarget: createTargetCheck(egressAllow, () => extractions.listening()),
    bases: extractions.settings.connectorBases,
  });
}
