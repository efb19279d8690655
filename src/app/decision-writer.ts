import { crc32 } from 'node:zlib';
import type { Clock } from '../kernel/clock.ts';
import type { CustomerNumber, FingerprintHash } from '../kernel/brand.ts';
import { isStop } from '../risk/decision.ts';
import { decodeRecord, fingerprintOf } from '../risk/decision-record.ts';
import { readIp } from '../risk/signals/ip.ts';
import type { DecisionSink } from '../decide/decision-sink.ts';
import {
  ANSWER_FAMILIAR,
  ANSWER_OBSERVED,
  ANSWER_REVIEW,
  ANSWER_SHADOW_ROUTED,
  ANSWER_SIGHTING,
} from '../frames/batch-buffer.ts';
import type { DecisionLog } from '../history/decision-log.ts';
import { RawRecord } from '../history/decision-log/raw-record.ts';
import { keptRowOf } from '../history/kept-row.ts';
import type { DecisionStats } from '../history/stats/decision-stats.ts';
import type { StoreFault } from '../state/tables/durable.ts';
import type { Store } from '../state/feed/open-store.ts';
import { defaultRetention, type RetentionOf } from '../risk/policy/row-retention.ts';
import { pruneState } from '../state/feed/prune.ts';

/**
 * Records every decision: a row in the log, an entry in the review queue, a sighting for the registry. All three are stored in
 * memory before the response and written after it, so the decide path never waits for the disk.
 */
export interface DecisionWriter extends DecisionSink {
  /** Writes everything pending; call several times a second and once at the end. Returns the store's faults. */
  flush(): Promise<readonly StoreFault[]>;
  /** Removes expired rows, a bounded number per call; call every second. Returns the store's faults. */
  prune(): Promise<readonly StoreFault[]>;
}

/** Choice: maximum number of rows of a table that one maintenance step scans; the write lock is held for under a millisecond. */
const PRUNE_ROWS = 500;

function besideStops(record: Buffer): boolean {
  const beside = record.length === 0 ? undefined : decodeRecord(record).beside;
  return beside !== undefined && isStop(beside.decision);
}

export function createDecisionWriter(
  store: Store,
  decisions: DecisionLog,
  stats: DecisionStats,
  clock: Clock,
  retentionOf: RetentionOf = defaultRetention,
): DecisionWriter {
  const nowSeconds = (): number => Math.floor(clock.nowMs() / 1000);
  const raw = new RawRecord();
  const kept = {
    audit: (customer: CustomerNumber) => retentionOf(customer).audit,
    labels: (customer: CustomerNumber) => retentionOf(customer).labels,
    reviews: (customer: CustomerNumber) => retentionOf(customer).flagged,
  };
  /** The policy's sample of ALLOW has its feature row: those rows outlive the decision. */
  const keepSample = (customer: CustomerNumber, record: Buffer): void => {
    if (!raw.read(record, 0, record.length) || raw.effective !== 'ALLOW') return;
    const row = keptRowOf(raw, 'sample');
    if (row !== null) store.learningRows?.keep(customer, row);
  };
  return {
    decided(customer: CustomerNumber, record: Buffer, flags: number, latencyMs: number): void {
      // A pass that the challenger model would stop is kept as long as a stop: only then can the two be compared once labels come.
      const isFlagged =
        (flags & ANSWER_OBSERVED) !== 0 || ((flags & ANSWER_SHADOW_ROUTED) !== 0 && besideStops(record));
      decisions.append(customer, record, latencyMs, isFlagged);
      keepSample(customer, record);
      if ((flags & (ANSWER_SHADOW_ROUTED | ANSWER_REVIEW)) !== 0) store.shadowReviews.enqueue(customer, record);
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
      void stats.tend(clock.nowMs());
      const written = await Promise.all([
        decisions.flush().then(() => null),
        store.shadowReviews.flush(),
        store.sightingQueue.flush(nowSeconds()),
        store.outcomes?.flush(clock.nowMs()) ?? null,
        store.learningRows?.flush(clock.nowMs(), (customer) => retentionOf(customer).features) ?? null,
      ]);
      return written.filter((fault) => fault !== null);
    },
    async prune() {
      decisions.prune(clock.nowMs());
      const { faults } = await pruneState(
        { tables: store.tables, changes: store.changes, kept },
        clock.nowMs(),
        PRUNE_ROWS,
      );
      return faults;
    },
  };
}

/** Returns part of the hash of the address's network (/24, /48), 1 to 65,535; 0 without an address. */
function networkOf(ip: string | null): number {
  const facts = ip === null ? null : readIp(ip);
  return facts?.kind === 'valid' ? crc32(facts.networks.site) & 0xffff || 1 : 0;
}
