import type { Clock } from './base/clock.ts';
import type { CustomerNumber, FingerprintHash } from './base/brand.ts';
import { fingerprintOf } from './core/decision-record.ts';
import type { DecisionLedger } from './decide/ledger.ts';
import { ANSWER_SHADOW_ROUTED, ANSWER_SIGHTING } from './pools/frame.ts';
import type { DecisionLog } from './store/decision-log.ts';
import type { StoreFault, StoreWrite } from './store/durable.ts';
import type { Store } from './store/open-store.ts';

/**
 * What decisions leave behind: a row in the log, a place in the shadow review queue, a sighting for the registry. All three are
 * put into memory before the answer leaves and written behind it, so the decide path never waits for the disk.
 */
export interface Ledger extends DecisionLedger {
  /** Writes what waits; to be called some times a second and once at the end. Gives the store's faults. */
  flush(): Promise<readonly StoreFault[]>;
  /** Removes what has run out, a bounded part of it; to be called every second. Gives the store's faults. */
  prune(): Promise<readonly StoreFault[]>;
}

/** Choice: a step of the upkeep looks at no more rows of a table than this; the write lock is held for under a millisecond. */
const PRUNE_ROWS = 500;

export function createLedger(store: Store, decisions: DecisionLog, clock: Clock): Ledger {
  const nowSeconds = (): number => Math.floor(clock.nowMs() / 1000);
  return {
    decided(customer: CustomerNumber, record: Buffer, flags: number, latencyMs: number): void {
      decisions.append(customer, record, latencyMs);
      if ((flags & ANSWER_SHADOW_ROUTED) !== 0) store.shadowReviews.enqueue(customer, record);
      if ((flags & ANSWER_SIGHTING) !== 0 && record.length > 0) {
        const fingerprint = fingerprintOf(record);
        if (fingerprint !== null)
          store.sightingQueue.noteDecision(customer, fingerprint as FingerprintHash, nowSeconds());
      }
    },
    async flush() {
      const written = await Promise.all([
        decisions.flush().then(() => null),
        store.shadowReviews.flush(),
        store.sightingQueue.flush(nowSeconds()),
      ]);
      return written.filter((fault) => fault !== null);
    },
    async prune() {
      decisions.prune(clock.nowMs());
      const faults: StoreFault[] = [];
      const steps: readonly ((now: number, rowsMax: number) => Promise<StoreWrite<number>>)[] = [
        (now, rowsMax) => store.lists.sweepExpired(now, rowsMax),
        (now, rowsMax) => store.shadowReviews.prune(now, rowsMax),
        (now, rowsMax) => store.labels.prune(now, rowsMax),
        (now, rowsMax) => store.sightings.prune(now, rowsMax),
        (now, rowsMax) => store.registry.prune(now, rowsMax),
      ];
      // One after the other, so that the write lock is free in between.
      for (const step of steps) {
        const done = await step(nowSeconds(), PRUNE_ROWS);
        if (done.kind === 'fault') faults.push(done);
      }
      return faults;
    },
  };
}
