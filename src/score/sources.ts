import type { Store } from '../store/open-store.ts';
import type { GeoIp } from './geoip.ts';
import type { Sources } from './gather.ts';

/** The worker's sources of facts. Direction of failure: open; a store that cannot be read leaves its rules quiet and says so. */
export interface WorkerSources {
  readonly sources: Sources;
  /** Begins a batch: its reads see everything that was committed before. */
  begin(): void;
  /** Whether a read of the store failed since the last call. */
  takeStoreFailure(): boolean;
}

export function createSources(
  store: Pick<Store, 'lists' | 'registry' | 'resetRead'>,
  geo: Pick<GeoIp, 'lookup' | 'epoch'>,
): WorkerSources {
  let failed = false;
  return {
    sources: {
      // Choice: written out, for a function made for each read costs more than the read's own try.
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
