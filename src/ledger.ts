import { crc32 } from 'node:zlib';
import type { Clock } from './base/clock.ts';
import type { CustomerNumber, FingerprintHash } from './base/brand.ts';
import { decodeRecord, fingerprintOf } from './core/decision-record.ts';
import { readIp } from './core/ip.ts';
import type { DecisionLedger } from './decide/ledger.ts';
import { ANSWER_FAMILIAR, ANSWER_OBSERVED, ANSWER_SHADOW_ROUTED, ANSWER_SIGHTING } from './pools/frame.ts';
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
      decisions.append(customer, record, latencyMs, (flags & ANSWER_OBSERVED) !== 0);
      if ((flags & ANSWER_SHADOW_ROUTED) !== 0) store.shadowReviews.enqueue(customer, record);
      if ((flags & ANSWER_SIGHTING) !== 0 && record.length > 0) {
        const fingerprint = fingerprintOf(record);
        if (fingerprint === null) return;
        store.sightingQueue.noteDecision(customer, fingerprint as FingerprintHash, nowSeconds(), () => ({
          network: networkOf(decodeRecord(record).ip),
          isFamiliar: (flags & ANSWER_FAMILIAR) !== 0,
        }));
      }
    },
    async flush() {
      const written = await Promise.all([
        decisions.flush().then(() => null),
        store.shadowReviews.flush(),
        store.sightingQueue.flush(nowSeconds()),
        store.outcomes?.flush(clock.nowMs()) ?? null,
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

/** A part of the hash of the address's network (/24, /48), 1 to 65,535; 0 without an address. */
function networkOf(ip: string | null): number {
  const facts = ip === null ? null : readIp(ip);
  return facts?.kind === 'valid' ? crc32(facts.networks.site) & 0xffff || 1 : 0;
}
