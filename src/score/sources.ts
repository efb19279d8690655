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
  const read = <T>(work: () => T | null): T | null => {
    try {
      return work();
    } catch {
      failed = true;
      return null;
    }
  };
  return {
    sources: {
      findList: (customer, fingerprint, now) => read(() => store.lists.find(customer, fingerprint, now)),
      findRegistry: (fingerprint, now) => read(() => store.registry.find(fingerprint, now)),
      lookupGeo: (ip, version) => geo.lookup(ip, version),
      geoEpoch: () => geo.epoch(),
    },
    begin() {
      read(() => {
        store.resetRead();
        return null;
      });
    },
    takeStoreFailure() {
      const had = failed;
      failed = false;
      return had;
    },
  };
}
