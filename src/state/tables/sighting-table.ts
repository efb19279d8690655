import type { Database } from 'lmdb';
import type { CustomerNumber, FingerprintHash } from '../../kernel/brand.ts';
import { isLive, type Sighting } from '../../risk/registry/consensus.ts';
import {
  customerOf,
  decode,
  encode,
  isConfirmed,
  SIGHTING_KEY_BYTES,
  keyOf,
  lastSeenOf,
  type SightingRow,
} from './sighting-row.ts';
import { withSum } from './value.ts';
import { TableWalk } from './table-walk.ts';

export interface NewSighting {
  readonly fingerprintHash: FingerprintHash;
  readonly atSeconds: number;
  /** For a BLOCK: part of the hash of the network that it came from, 1 to 65,535; 0 if unknown. */
  readonly network?: number;
  /** For a BLOCK: the customer has known the fingerprint for days. */
  readonly isFamiliar?: boolean;
}

/**
 * Reports of customers that blocked a fingerprint recently: one row per fingerprint and customer, so a customer counts once whatever it
 * does. Every change of it recomputes the registry's consensus in the same transaction (`apply/sightings.ts`). Neither the decide path nor
 * any response reads this table: before the consensus is published nothing about a fingerprint can be learnt, not even by timing.
 *
 * An expired row does not count, whether or not it was pruned yet.
 */
export class Sightings {
  readonly #table: Database<Buffer, Buffer>;
  readonly #walk: TableWalk;

  constructor(table: Database<Buffer, Buffer>) {
    this.#table = table;
    this.#walk = new TableWalk(table);
  }

  /** Returns the row, expired or not; null without one. */
  row(customer: CustomerNumber, fingerprintHash: FingerprintHash): SightingRow | null {
    const stored = this.#table.getBinary(keyOf(fingerprintHash, customer));
    return stored === undefined ? null : decode(stored);
  }

  /** For `apply`, inside its transaction. */
  put(customer: CustomerNumber, fingerprintHash: FingerprintHash, row: SightingRow): void {
    const key = keyOf(fingerprintHash, customer);
    void this.#table.put(key, withSum(key, encode(row)));
  }

  /** For `apply`, inside its transaction. */
  remove(customer: CustomerNumber, fingerprintHash: FingerprintHash): void {
    void this.#table.remove(keyOf(fingerprintHash, customer));
  }

  /**
   * Returns the number of distinct customers within the window. For the operator's tools only: no response of the service may contain it.
   */
  customersOf(fingerprintHash: FingerprintHash, nowSeconds: number): number {
    let customers = 0;
    for (const sighting of this.of(fingerprintHash, nowSeconds))
      if (isLive(sighting.lastSeenSeconds, nowSeconds)) customers++;
    return customers;
  }

  /** Returns the keys of expired rows among the next `rowsMax`, starting over after the last one. */
  expired(nowSeconds: number, rowsMax: number): readonly Buffer[] {
    return this.#walk.next(rowsMax, (value) => !isLive(lastSeenOf(decode(Buffer.from(value))), nowSeconds));
  }

  /** For `apply`, inside its transaction. Returns whether the row was expired and is removed: it may have been seen again since. */
  removeExpired(key: Buffer, nowSeconds: number): boolean {
    const stored = this.#table.getBinary(key);
    if (stored === undefined || isLive(lastSeenOf(decode(stored)), nowSeconds)) return false;
    void this.#table.remove(key);
    return true;
  }

  /** Yields the sightings of a fingerprint, expired ones included. */
  *of(fingerprintHash: FingerprintHash, nowSeconds: number): Generator<Sighting> {
    const start = Buffer.from(fingerprintHash, 'hex');
    const end = Buffer.alloc(SIGHTING_KEY_BYTES + 1, 0xff);
    start.copy(end);
    for (const { key, value } of this.#table.getRange({ start, end })) {
      const row = decode(Buffer.from(value));
      yield {
        customer: customerOf(Buffer.from(key)),
        firstSeenSeconds: row.firstSeenSeconds,
        lastSeenSeconds: lastSeenOf(row),
        isConfirmed: isConfirmed(row, nowSeconds),
      };
    }
  }
}
