import type { Store } from '../state/open-store.ts';
import type { GeoIp } from './geoip.ts';
import type { Sources } from './gather.ts';

/**
 * The worker's sources of facts. Direction of failure: open; if a store cannot be read, its rules stay quiet and the failure is reported.
 */
export interface WorkerSources {
  readonly sources: Sources;
  /** Begins a batch: its reads see everything that was committed before. */
  begin(): void;
  /** Returns whether a read of the store failed since the last call. */
  takeStoreFailure(): boolean;
}

export function createSources(
  store: Pick<Store, 'lists' | 'registry' | 'resetRead'>,
  geo: Pick<GeoIp, 'lookup' | 'epoch'>,
): WorkerSources {
  let failed = false;
  return {
    sources: {
      // Choice: repeats the try block, because a closure created for each read costs more than the read itself.
      findList(customer, fingerprint, now) {
        try {
          return store.lists.find(customer, fingerprint, now);
        } catch {
          failed = true;
          return null;
        }
      },
      findRegistry(fingerprint, now) {
        try {
          return store.registry.find(fingerprint, now);
        } catch {
          failed = true;
          return null;
        }
      },
      lookupGeo: (ip, version) => geo.lookup(ip, version),
      geoEpoch: () => geo.epoch(),
    },
    begin() {
      try {
        store.resetRead();
      } catch {
        failed = true;
      }
    },
    takeStoreFailure() {
      const had = failed;
      failed = false;
      return had;
    },
  };
}
