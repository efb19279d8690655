import type { CustomerNumber, FingerprintHash } from '../../kernel/brand.ts';
import type { Committer, Noted } from './changes.ts';
import type { StoreWrite } from '../tables/durable.ts';
import type { SightingKind } from '../tables/sighting-row.ts';
import type { NewSighting } from '../tables/sighting-table.ts';
import type { Slices } from '../tables/turns.ts';

/** Returns whether the registry accepts a customer's evidence against a fingerprint. */
export type TakesSighting = (
  customer: CustomerNumber,
  fingerprintHash: FingerprintHash,
  kind: SightingKind,
  nowSeconds: number,
) => boolean;

/** Measured: some 10 µs each, so a transaction holds the thread for 0.5 ms. */
const BLOCKS_PER_WRITE = 50;

/** Reports customers' evidence to the registry, unless the velocity store speaks against it. */
export class SightingReports {
  readonly #changes: Committer;
  #takes: TakesSighting = () => true;

  constructor(changes: Committer) {
    this.#changes = changes;
  }

  /** From now on, evidence that `takes` rejects is not written. Choice: set later, because the velocity store opens after the store. */
  takeOnly(takes: TakesSighting): void {
    this.#takes = takes;
  }

  takes(customer: CustomerNumber, fingerprintHash: FingerprintHash, kind: SightingKind, nowSeconds: number): boolean {
    return this.#takes(customer, fingerprintHash, kind, nowSeconds);
  }

  /** Records that the customer's list blocks these fingerprints. A fault ends it; what was written before stays. */
  async noteBlocks(
    customer: CustomerNumber,
    fingerprintHashes: readonly FingerprintHash[],
    nowSeconds: number,
    slices: Slices | null = null,
  ): Promise<StoreWrite<Noted>> {
    const all = { written: 0, refused: 0 };
    for (let from = 0; from < fingerprintHashes.length; from += BLOCKS_PER_WRITE) {
      if (slices !== null && from > 0) await slices.begin();
      const part = fingerprintHashes.slice(from, from + BLOCKS_PER_WRITE);
      const seen = part.map((fingerprintHash) => ({ fingerprintHash, atSeconds: nowSeconds }));
      // The flush of the last part covers the earlier ones.
      const until = from + BLOCKS_PER_WRITE < fingerprintHashes.length ? 'visible' : 'durable';
      const noted = await this.noteMany(customer, 'list', seen, nowSeconds, until);
      if (noted.kind === 'fault') return noted;
      all.written += noted.value.written;
      all.refused += noted.value.refused;
    }
    return { kind: 'ok', value: all };
  }

  /** Pass a few hundred per call: the write lock is held for some 10 µs each. */
  noteMany(
    customer: CustomerNumber,
    evidence: SightingKind,
    seen: readonly NewSighting[],
    nowSeconds: number,
    until: 'durable' | 'visible' = 'durable',
  ): Promise<StoreWrite<Noted>> {
    const taken = seen.filter(({ fingerprintHash }) => this.#takes(customer, fingerprintHash, evidence, nowSeconds));
    if (taken.length === 0) return Promise.resolve({ kind: 'ok', value: { written: 0, refused: 0 } });
    return this.#changes.commit(
      { kind: 'sightings.noted', customer, evidence, seen: taken },
      { by: 'service', nowMs: nowSeconds * 1000 },
      { until },
    );
  }
}
