import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber, FingerprintHash } from '../kernel/brand.ts';
import { afterSighting, isLive, consensusOf, type Sighting } from '../risk/registry/consensus.ts';
import {
  SIGHTING_REFRESH_SECONDS,
  SIGHTINGS_AUTOMATIC_PER_CUSTOMER_MAX,
  SIGHTINGS_PER_CUSTOMER_MAX,
} from '../kernel/limits.ts';
import { durably, type StoreWrite } from './durable.ts';
import {
  customerOf,
  decode,
  encode,
  isConfirmed,
  isNews,
  KEY_BYTES,
  keyOf,
  lastSeenOf,
  livingRow,
  type SightingKind,
  type Row,
  withTime,
} from './sighting-row.ts';
import type { Slices } from './turns.ts';
import { durablyInParts } from './write-parts.ts';
import type { Registry } from './registry-table.ts';
import type { RowCounters } from './row-counters.ts';
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

/** Measured: some 10 µs each, so a transaction holds the thread for 0.5 ms. */
const BLOCKS_PER_WRITE = 50;

export interface Noted {
  /** Number of sightings written. */
  readonly written: number;
  /** Number of sightings refused because the customer has no room left for their fingerprints. */
  readonly refused: number;
}

export interface Forgotten {
  /** Whether the registry had an entry. */
  readonly entry: boolean;
  /** Number of customers whose sightings were removed. */
  readonly customers: number;
}

/** Returns whether the registry accepts a customer's evidence against a fingerprint. */
export type TakesSighting = (
  customer: CustomerNumber,
  fingerprintHash: FingerprintHash,
  kind: SightingKind,
  nowSeconds: number,
) => boolean;

export interface SightingBounds {
  readonly perCustomerMax: number;
  readonly automaticPerCustomerMax: number;
}

const BOUNDS: SightingBounds = {
  perCustomerMax: SIGHTINGS_PER_CUSTOMER_MAX,
  automaticPerCustomerMax: SIGHTINGS_AUTOMATIC_PER_CUSTOMER_MAX,
};

/**
 * Reports of customers that blocked a fingerprint recently: one row per fingerprint and customer, so a customer counts once whatever it
 * does. Every change recomputes the registry's consensus in its own transaction. Neither the decide path nor any response reads this table:
 * before the consensus is published nothing about a fingerprint can be learnt, not even by timing.
 *
 * An expired row does not count, whether or not it was pruned yet.
 */
export class Sightings {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #table: Database<Buffer, Buffer>;
  readonly #registry: Registry;
  readonly #rowCounters: RowCounters;
  readonly #bounds: SightingBounds;
  readonly #walk: TableWalk;
  #takes: TakesSighting = () => true;

  constructor(
    root: RootDatabase<Buffer, Buffer>,
    table: Database<Buffer, Buffer>,
    registry: Registry,
    rowCounters: RowCounters,
    bounds = BOUNDS,
  ) {
    this.#root = root;
    this.#table = table;
    this.#walk = new TableWalk(table);
    this.#registry = registry;
    this.#rowCounters = rowCounters;
    this.#bounds = bounds;
  }

  /** From now on, evidence that `takes` rejects is not written. Choice: set later, because the velocity store opens after the store. */
  takeOnly(takes: TakesSighting): void {
    this.#takes = takes;
  }

  /** Records that the customer's list blocks these fingerprints. */
  async noteBlocks(
    customer: CustomerNumber,
    fingerprintHashes: readonly FingerprintHash[],
    nowSeconds: number,
    slices: Slices | null = null,
  ): Promise<StoreWrite<Noted>> {
    const seen = fingerprintHashes.map((fingerprintHash) => ({ fingerprintHash, atSeconds: nowSeconds }));
    const parts: NewSighting[][] = [];
    for (let from = 0; from < seen.length; from += BLOCKS_PER_WRITE)
      parts.push(seen.slice(from, from + BLOCKS_PER_WRITE));
    const note = (part: readonly NewSighting[]): Noted => this.noteInside(customer, 'list', part, nowSeconds);
    const written = await durablyInParts(this.#root, parts, 1, note, slices);
    if (written.kind === 'fault') return written;
    const sum = (name: keyof Noted): number => written.value.reduce((all, noted) => all + noted[name], 0);
    return { kind: 'ok', value: { written: sum('written'), refused: sum('refused') } };
  }

  /** Pass a few hundred per call: the write lock is held for some 10 µs each. */
  noteMany(
    customer: CustomerNumber,
    kind: SightingKind,
    seen: readonly NewSighting[],
    nowSeconds: number,
  ): Promise<StoreWrite<Noted>> {
    return durably(this.#root, () => this.noteInside(customer, kind, seen, nowSeconds));
  }

  /** Must be called inside a write transaction. */
  noteInside(customer: CustomerNumber, kind: SightingKind, seen: readonly NewSighting[], nowSeconds: number): Noted {
    const before = this.#rowCounters.get('sightings', customer);
    const room = (kind === 'decision' ? this.#bounds.automaticPerCustomerMax : this.#bounds.perCustomerMax) - before;
    const touched = new Set<FingerprintHash>();
    let added = 0;
    let refused = 0;
    for (const { fingerprintHash, atSeconds, network = 0, isFamiliar = false } of seen) {
      if (!this.#takes(customer, fingerprintHash, kind, nowSeconds)) continue;
      const key = keyOf(fingerprintHash, customer);
      const stored = this.#table.getBinary(key);
      if (stored === undefined && added >= room) {
        refused++;
        continue;
      }
      const row = stored === undefined ? null : livingRow(decode(stored), nowSeconds);
      // Choice: a customer's good history of a fingerprint outweighs the first BLOCK by traffic, but not the customer's own list or label.
      if (row === null && isFamiliar) continue;
      // A time that is not newer adds nothing. BLOCKs arrive by the thousand, so their time is updated only after a minimum interval.
      const since = atSeconds - (row?.times[kind] ?? 0);
      const isDecision = kind === 'decision';
      const isOld = since <= (isDecision ? SIGHTING_REFRESH_SECONDS : -1);
      if (row !== null && isOld && !(isDecision && isNews(row, atSeconds, network))) continue;
      if (stored === undefined) added++;
      this.#put(key, withTime(row, kind, atSeconds, network));
      touched.add(fingerprintHash);
    }
    if (added > 0) this.#rowCounters.add('sightings', customer, added);
    for (const hash of touched) {
      const fresh = consensusOf(this.#of(hash, nowSeconds), nowSeconds);
      if (fresh === null) continue;
      const before = this.#registry.get(hash)?.publishedConsensus ?? null;
      this.#registry.setConsensus(hash, afterSighting(before, fresh), nowSeconds);
    }
    return { written: touched.size, refused };
  }

  /**
   * Must be called inside a write transaction. Revokes the customer's evidence of these kinds: without enough other customers the
   * consensus ends at once. An imported part stays.
   */
  takeBackInside(
    customer: CustomerNumber,
    fingerprintHash: FingerprintHash,
    kinds: readonly SightingKind[],
    nowSeconds: number,
  ): void {
    const key = keyOf(fingerprintHash, customer);
    const stored = this.#table.getBinary(key);
    const row = stored === undefined ? null : livingRow(decode(stored), nowSeconds);
    if (row === null || !kinds.some((kind) => row.times[kind] > 0 && isLive(row.times[kind], nowSeconds))) return;
    for (const kind of kinds) row.times[kind] = 0;
    const rest = lastSeenOf(row);
    if (rest > 0 && isLive(rest, nowSeconds)) this.#put(key, row);
    else {
      void this.#table.remove(key);
      this.#rowCounters.add('sightings', customer, -1);
    }
    this.#registry.setConsensus(
      fingerprintHash,
      consensusOf(this.#of(fingerprintHash, nowSeconds), nowSeconds),
      nowSeconds,
    );
  }

  /**
   * Removes the registry's entry and all sightings of the fingerprint, on the operator's order. If the sightings stayed, the next customer
   * that blocks it would publish it again at once.
   */
  forgetFingerprint(fingerprintHash: FingerprintHash): Promise<StoreWrite<Forgotten>> {
    return durably(this.#root, () => {
      const customers = [...this.#of(fingerprintHash, 0)].map((sighting) => sighting.customer as CustomerNumber);
      for (const customer of customers) {
        void this.#table.remove(keyOf(fingerprintHash, customer));
        this.#rowCounters.add('sightings', customer, -1);
      }
      return { entry: this.#registry.removeInside(fingerprintHash), customers: customers.length };
    });
  }

  /**
   * Returns the number of distinct customers within the window. For the operator's tools only: no response of the service may contain it.
   */
  customersOf(fingerprintHash: FingerprintHash, nowSeconds: number): number {
    let customers = 0;
    for (const sighting of this.#of(fingerprintHash, nowSeconds))
      if (isLive(sighting.lastSeenSeconds, nowSeconds)) customers++;
    return customers;
  }

  /** Removes expired rows among the next `rowsMax`, starting over after the last one. Returns how many were removed. */
  async prune(nowSeconds: number, rowsMax: number): Promise<StoreWrite<number>> {
    const old = this.#walk.next(rowsMax, (value) => !isLive(lastSeenOf(decode(Buffer.from(value))), nowSeconds));
    if (old.length === 0) return { kind: 'ok', value: 0 };
    return durably(this.#root, () => this.#removeOld(old, nowSeconds));
  }

  #removeOld(keys: readonly Buffer[], nowSeconds: number): number {
    const removed = new Map<CustomerNumber, number>();
    for (const key of keys) {
      // It may have been seen again since it was scanned.
      const stored = this.#table.getBinary(key);
      if (stored === undefined || isLive(lastSeenOf(decode(stored)), nowSeconds)) continue;
      void this.#table.remove(key);
      const customer = customerOf(key);
      removed.set(customer, (removed.get(customer) ?? 0) + 1);
    }
    let all = 0;
    for (const [customer, rows] of removed) {
      this.#rowCounters.add('sightings', customer, -rows);
      all += rows;
    }
    return all;
  }

  *#of(fingerprintHash: FingerprintHash, nowSeconds: number): Generator<Sighting> {
    const start = Buffer.from(fingerprintHash, 'hex');
    const end = Buffer.alloc(KEY_BYTES + 1, 0xff);
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

  #put(key: Buffer, row: Row): void {
    void this.#table.put(key, withSum(key, encode(row)));
  }
}
