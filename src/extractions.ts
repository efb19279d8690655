import type { Route } from './base/exchange.ts';
import { egressPolicy } from './egress/address.ts';
import { checkTarget } from './egress/target.ts';
import { CONNECTORS } from './extract/connectors/index.ts';
import { createExtractions, type Extractions } from './extract/extractions.ts';
import { extractionRoutes } from './extract/routes.ts';
import { EXTRACT_USER_AGENT } from './limits.ts';
import type { Managed } from './manage/managed.ts';
import type { Cursors } from './manage/paging.ts';
import type { Log } from './observe/log.ts';
import { openExtractPool } from './pools/extract-pool.ts';
import type { Settings } from './settings.ts';
import type { Store } from './store/open-store.ts';
import { reportFaults } from './upkeep.ts';

/** Wires extraction: the store's tables, the workers that fetch, and what customers ask of both. */

/** Choice: one thread reads some 2,000 small pages a second, and the politeness of one domain allows 4. */
const EXTRACT_WORKERS = 1;

export interface ExtractionWiring {
  readonly store: Store;
  readonly settings: Settings;
  /** Seals sessions and the secrets of destinations. */
  readonly key: Uint8Array;
  readonly log: Log;
}

export function openExtractions({ store, settings, key, log }: ExtractionWiring): Extractions {
  if (store.extract === null) throw new Error('extraction needs the store open for writing');
  return createExtractions({
    store: store.extract,
    dataDir: settings.dataDir,
    sealing: key,
    workers: EXTRACT_WORKERS,
    worker: { egressAllow: settings.egressAllow, userAgent: EXTRACT_USER_AGENT, bases: settings.connectorBases },
    connectors: CONNECTORS,
    polite: { gapMs: settings.extractHostGapMs, concurrency: settings.extractHostConcurrency },
    log,
    openPool: openExtractPool,
    onStoreFaults: (faults) => reportFaults(faults, log),
  });
}

export function extractRoutes(
  managed: Managed,
  parts: { readonly extractions: Extractions; readonly cursors: Cursors; readonly egressAllow: readonly string[] },
): Route[] {
  const policy = egressPolicy(parts.egressAllow);
  return extractionRoutes(managed, {
    control: parts.extractions.control,
    connectors: CONNECTORS,
    cursors: parts.cursors,
    checkTarget: (url) => checkTarget(url, policy),
  });
}
