import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber, FingerprintHash } from '../base/brand.ts';
import { afterSighting, isLive, promotionOf, type Sighting } from '../core/promotion.ts';
import {
  SIGHTING_REFRESH_SECONDS,
  SIGHTINGS_AUTOMATIC_PER_CUSTOMER_MAX,
  SIGHTINGS_PER_CUSTOMER_MAX,
} from '../limits.ts';
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
import type { Registry } from './registry.ts';
import type { Tallies } from './tallies.ts';
import { withSum } from './value.ts';
import { TableWalk } from './table-walk.ts';

export interface NewSighting {
  readonly fingerprintHash: FingerprintHash;
  readonly atSeconds: number;
  /** Of a BLOCK: a part of the hash of the network that it came from, 1 to 65,535; 0 where it is not known. */
  readonly network?: number;
  /** Of a BLOCK: the customer has known the fingerprint for days. */
  readonly isFamiliar?: boolean;
}

/** Measured: some 10 µs each, so a transaction holds the thread for 0.5 ms. */
const BLOCKS_PER_WRITE = 50;

export interface Noted {
  /** Sightings that were written. */
  readonly written: number;
  /** Sightings of fingerprints for which the customer has no room left. */
  readonly refused: number;
}

export interface Forgotten {
  /** Whether the registry had an entry. */
  readonly entry: boolean;
  /** Customers whose sightings are gone. */
  readonly customers: number;
}

/** Whether the registry takes a customer's evidence against a fingerprint. */
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
 * Which customers have blocked a fingerprint of late: a row for each fingerprint and customer, so a customer counts once whatever
 * it does. Every change decides anew, in its own transaction, what the registry says. The decide path never reads this, nor does
 * any answer: there is nothing to be learnt of a fingerprint before its promotion, not even by time.
 *
 * A row that has run out counts as none, whether or not it was pruned yet.
 */
export class Sightings {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #table: Database<Buffer, Buffer>;
  readonly #registry: Registry;
  readonly #tallies: Tallies;
  readonly #bounds: SightingBounds;
  readonly #walk: TableWalk;
  #takes: TakesSighting = () => true;

  constructor(
    root: RootDatabase<Buffer, Buffer>,
    table: Database<Buffer, Buffer>,
    registry: Registry,
    tallies: Tallies,
    bounds = BOUNDS,
  ) {
    this.#root = root;
    this.#table = table;
    this.#walk = new TableWalk(table);
    this.#registry = registry;
    this.#tallies = tallies;
    this.#bounds = bounds;
  }

  /** Evidence that `takes` refuses is not written from now on. Choice: set later, because memory opens after the store. */
  takeOnly(takes: TakesSighting): void {
    this.#takes = takes;
  }

  /** The customer's list blocks these. */
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

  /** A few hundred a call: the write lock is held for some 10 µs each. */
  noteMany(
    customer: CustomerNumber,
    kind: SightingKind,
    seen: readonly NewSighting[],
    nowSeconds: number,
  ): Promise<StoreWrite<Noted>> {
    return durably(this.#root, () => this.noteInside(customer, kind, seen, nowSeconds));
  }

  /** Only inside a write transaction. */
  noteInside(customer: CustomerNumber, kind: SightingKind, seen: readonly NewSighting[], nowSeconds: number): Noted {
    const before = this.#tallies.get('sightings', customer);
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
      // Choice: a customer's good history of a fingerprint weighs more than the first BLOCK by traffic, not more than its own word.
      if (row === null && isFamiliar) continue;
      // A time that is not newer says nothing new. BLOCKs come by the thousand, so theirs need not be to the second.
      const since = atSeconds - (row?.times[kind] ?? 0);
      const isDecision = kind === 'decision';
      const isOld = since <= (isDecision ? SIGHTING_REFRESH_SECONDS : -1);
      if (row !== null && isOld && !(isDecision && isNews(row, atSeconds, network))) continue;
      if (stored === undefined) added++;
      this.#put(key, withTime(row, kind, atSeconds, network));
      touched.add(fingerprintHash);
    }
    if (added > 0) this.#tallies.add('sightings', customer, added);
    for (const hash of touched) {
      const fresh = promotionOf(this.#of(hash, nowSeconds), nowSeconds);
      if (fresh === null) continue;
      const before = this.#registry.get(hash)?.promotion ?? null;
      this.#registry.setPromotion(hash, afterSighting(before, fresh), nowSeconds);
    }
    return { written: touched.size, refused };
  }

  /**
   * Only inside a write transaction. The customer takes evidence of these kinds back: without enough other customers the
   * promotion ends with it, at once. What an import says stays.
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
      this.#tallies.add('sightings', customer, -1);
    }
    this.#registry.setPromotion(
      fingerprintHash,
      promotionOf(this.#of(fingerprintHash, nowSeconds), nowSeconds),
      nowSeconds,
    );
  }

  /**
   * The operator's word: the registry's entry and all sightings of the fingerprint go. Without the second, the next customer
   * that blocks it would promote it again at once.
   */
  forgetFingerprint(fingerprintHash: FingerprintHash): Promise<StoreWrite<Forgotten>> {
    return durably(this.#root, () => {
      const customers = [...this.#of(fingerprintHash, 0)].map((sighting) => sighting.customer as CustomerNumber);
      for (const customer of customers) {
        void this.#table.remove(keyOf(fingerprintHash, customer));
        this.#tallies.add('sightings', customer, -1);
      }
      return { entry: this.#registry.removeInside(fingerprintHash), customers: customers.length };
    });
  }

  /** Distinct customers within the window. For the operator's tools alone: no answer of the service may tell. */
  customersOf(fingerprintHash: FingerprintHash, nowSeconds: number): number {
    let customers = 0;
    for (const sighting of this.#of(fingerprintHash, nowSeconds))
      if (isLive(sighting.lastSeenSeconds, nowSeconds)) customers++;
    return customers;
  }

  /** Removes what has run out among the next `rowsMax` rows, and begins again after the last one. Gives how many went. */
  async prune(nowSeconds: number, rowsMax: number): Promise<StoreWrite<number>> {
    const old = this.#walk.next(rowsMax, (value) => !isLive(lastSeenOf(decode(Buffer.from(value))), nowSeconds));
    if (old.length === 0) return { kind: 'ok', value: 0 };
    return durably(this.#root, () => this.#removeOld(old, nowSeconds));
  }

  #removeOld(keys: readonly Buffer[], nowSeconds: number): number {
    const removed = new Map<CustomerNumber, number>();
    for (const key of keys) {
      // It may have been seen again since it was looked at.
      const stored = this.#table.getBinary(key);
      if (stored === undefined || isLive(lastSeenOf(decode(stored)), nowSeconds)) continue;
      void this.#table.remove(key);
      const customer = customerOf(key);
      removed.set(customer, (removed.get(customer) ?? 0) + 1);
    }
    let all = 0;
    for (const [customer, rows] of removed) {
      this.#tallies.add('sightings', customer, -rows);
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
