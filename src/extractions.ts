import type { Route } from './base/exchange.ts';
import type { ListeningAddress } from './egress/address.ts';
import { CONNECTORS } from './extract/connectors/index.ts';
import { createExtractions, type Extractions } from './extract/extractions.ts';
import { extractionRoutes } from './extract/routes.ts';
import type { SchedulerBounds } from './extract/scheduler.ts';
import { EXTRACT_USER_AGENT } from './limits.ts';
import type { Managed } from './manage/managed.ts';
import type { Cursors } from './manage/paging.ts';
import type { Log } from './observe/log.ts';
import { openExtractPool } from './pools/extract-pool.ts';
import type { Settings } from './settings.ts';
import type { Store } from './store/open-store.ts';
import { createTargetCheck } from './target-check.ts';
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

const HOUR_MS = 3_600_000;

/** What an operator may bound of the jobs that run. */
export function jobBoundsOf(
  settings: Pick<Settings, 'extractHoursMax' | 'extractJobsPerCustomer'>,
): Pick<SchedulerBounds, 'jobMsMax' | 'runningPerCustomerMax'> {
  return {
    jobMsMax: settings.extractHoursMax * HOUR_MS,
    runningPerCustomerMax: settings.extractJobsPerCustomer,
  };
}

export interface OpenExtractions extends Extractions {
  /** Where this service listens; empty before it does. */
  listening(): readonly ListeningAddress[];
  /** Of what requests are checked against. */
  readonly settings: Pick<Settings, 'connectorBases' | 'extractRecordsMax'>;
}

export function openExtractions({ store, settings, key, log }: ExtractionWiring): OpenExtractions {
  if (store.extract === null) throw new Error('extraction needs the store open for writing');
  store.extract.extractions.boundRecords(settings.extractRecordsMax);
  const extractions = createExtractions({
    store: store.extract,
    dataDir: settings.dataDir,
    sealing: key,
    workers: EXTRACT_WORKERS,
    worker: { egressAllow: settings.egressAllow, userAgent: EXTRACT_USER_AGENT, bases: settings.connectorBases },
    connectors: CONNECTORS,
    polite: { gapMs: settings.extractHostGapMs, concurrency: settings.extractHostConcurrency },
    bounds: jobBoundsOf(settings),
    log,
    openPool: openExtractPool,
    onStoreFaults: (faults) => reportFaults(faults, log),
  });
  let listening: readonly ListeningAddress[] = [];
  return {
    ...extractions,
    settings,
    listening: () => listening,
    listens(addresses) {
      listening = addresses;
      extractions.listens(addresses);
    },
  };
}

export function extractRoutes(
  managed: Managed,
  parts: { readonly extractions: OpenExtractions; readonly cursors: Cursors; readonly egressAllow: readonly string[] },
): Route[] {
  const { extractions, cursors, egressAllow } = parts;
  return extractionRoutes(managed, {
    control: extractions.control,
    connectors: CONNECTORS,
    cursors,
    checkTarget: createTargetCheck(egressAllow, () => extractions.listening()),
    recordsMax: extractions.settings.extractRecordsMax,
    bases: extractions.settings.connectorBases,
  });
}
