import type { Database, RootDatabase } from 'lmdb';
import { unreachable, type CustomerNumber } from '../base/brand.ts';
import type { Delivery, DeliveryError, DeliveryId } from '../core/webhook.ts';
import type { Counters } from './counters.ts';
import { Eviction } from './deliveries/eviction.ts';
import { type DeliveryPageOutcome, type DeliveryQuery, type PageBounds, Pages } from './deliveries/pages.ts';
import { PendingCounts } from './deliveries/pending.ts';
import {
  decodeRow,
  type DeliveryHead,
  deliveryKey,
  type DeliveryUpdate,
  encodeRow,
  ENDPOINT_BYTES,
  endpointKey,
  headOf,
  isPending,
  pendingKey,
  pendingKeyOf,
  updateRow,
} from './deliveries/row.ts';
import { WriteQueue } from './deliveries/write-queue.ts';
import { committed, type StoreFault, type StoreWrite } from './durable.ts';
import { ID_BYTES, oldRows, removeRows, rowIdOf } from './request-rows.ts';
import type { Tallies } from './tallies.ts';
import { Turns } from './turns.ts';
import { u32Key, withSum } from './value.ts';

export interface SkipOrder {
  readonly error: DeliveryError;
  readonly nowMs: number;
  /** Pending rows that the call looks at. */
  readonly rowsMax: number;
  /** Where the call before ended; null at the beginning. */
  readonly after: DeliveryId | null;
  /** What of them ends; without it all. */
  readonly isSkipped?: (head: DeliveryHead) => boolean;
}

export interface Skipped {
  readonly count: number;
  /** Where the next call goes on, null at the end. */
  readonly next: DeliveryId | null;
}

export interface DeliveryBounds extends PageBounds {
  readonly endedPerCustomerMax: number;
  readonly keepMs: number;
  readonly perWrite: number;
}

const BOUNDS: DeliveryBounds = {
  /** Source: open points, section 4. */
  endedPerCustomerMax: 10_000,
  /** Source: open points, section 4. */
  keepMs: 30 * 86_400_000,
  /** Choice: one transaction holds the main thread for some 4 ms at most. */
  perWrite: 512,
  /** Choice: all that is kept of a customer, but for what is pending. Measured: 10,000 rows that do not fit, 17 ms. */
  scanRowsMax: 10_000,
  /** Choice: some 0.8 ms; what ends a slice is its time, or this where the clock stands still. */
  sliceRowsMax: 500,
};

const NOTHING: ReadonlySet<string> = new Set();

/** A new row as its bytes, so that the write lock is not held while they are made. */
interface NewRow {
  readonly kind: 'new';
  readonly customer: CustomerNumber;
  readonly key: Buffer;
  readonly value: Buffer;
}

type Item =
  | NewRow
  | { readonly kind: 'update'; readonly update: DeliveryUpdate }
  | { readonly kind: 'stored'; readonly sequence: number };

/**
 * The log of deliveries, which is also what is still to be sent: each is written before its first attempt. Of each customer the
 * newest 10,000 that have ended are kept for 30 days, and all that are pending. Only the server writes it, on one thread.
 *
 * Writes answer when they are committed, which is before they are on the disk: the end of the process undoes none, and what the
 * end of the machine undoes the journal may still hold. Calls of one turn, and those that come while a write runs, share one
 * transaction. Measured, main thread, bodies of 600 bytes, 200 rows a transaction: 7 µs an insert, 8 µs an update that ends a
 * row, 13 µs where an older row goes for it; 15 µs each in transactions of 16 rows.
 */
export class Deliveries {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #table: Database<Buffer, Buffer>;
  readonly #index: Database<Buffer, Buffer>;
  readonly #tallies: Tallies;
  readonly #counters: Counters;
  readonly #bounds: DeliveryBounds;
  readonly #eviction: Eviction;
  readonly #pages: Pages;
  readonly #queue: WriteQueue<Item>;
  #pending: PendingCounts | null = null;
  #writing = 0;
  /** A write was refused, so what is kept in memory may be wrong. */
  #isStale = false;
  #evicted = 0;
  /** The customer with whom `prune` goes on. */
  #pruneFrom = 0;

  constructor(
    root: RootDatabase<Buffer, Buffer>,
    tables: { readonly rows: Database<Buffer, Buffer>; readonly pending: Database<Buffer, Buffer> },
    tallies: Tallies,
    counters: Counters,
    bounds = BOUNDS,
    turns = new Turns(),
  ) {
    this.#root = root;
    this.#table = tables.rows;
    this.#index = tables.pending;
    this.#tallies = tallies;
    this.#counters = counters;
    this.#bounds = bounds;
    this.#eviction = new Eviction(tables.rows, tallies, bounds.endedPerCustomerMax);
    this.#pages = new Pages(tables.rows, bounds, turns);
    this.#queue = new WriteQueue((items) => this.#writeItems(items), bounds.perWrite);
  }

  /** Rows that went before their time because their customer's log was full, since the start. */
  get evicted(): number {
    return this.#evicted;
  }

  /**
   * Writes new rows, pending or skipped, and with the last of them that the journal's due entries up to that sequence are in the
   * store. Rows that are there already stay as they are. Calls must come in the order of their sequences: after a fault, its
   * rows must be handed over again before newer ones, or a restart forgets them.
   */
  async insert(rows: readonly Delivery[], storedUpToSequence: number): Promise<StoreWrite<null>> {
    const items: Item[] = rows.map(newRow);
    items.push({ kind: 'stored', sequence: storedUpToSequence });
    return answerOf(await this.#queue.add(items));
  }

  /** Writes what came of attempts, in order. A row that has ended already, or is not there, stays so. */
  async apply(updates: readonly DeliveryUpdate[]): Promise<StoreWrite<null>> {
    return answerOf(await this.#queue.add(updates.map((update) => ({ kind: 'update', update }))));
  }

  /** Resolves when what was handed to `insert` and `apply` before this call can be read, or was refused. */
  settled(): Promise<void> {
    return this.#queue.settled();
  }

  find(customer: CustomerNumber, id: DeliveryId): Delivery | null {
    const key = deliveryKey(customer, id);
    const stored = key === null ? undefined : this.#table.getBinary(key);
    return key === null || stored === undefined ? null : decodeRow(key, stored);
  }

  /** Looks at no more rows than are kept of a customer, in slices; `next` goes on behind them. */
  page(customer: CustomerNumber, query: DeliveryQuery): Promise<DeliveryPageOutcome> {
    return this.#pages.read(customer, query);
  }

  /**
   * What is still to be sent to an endpoint, oldest first, behind `after`. Of the `limit` rows that are looked at those in `known`
   * are passed over unread.
   */
  pendingOf(
    endpointId: string,
    after: DeliveryId | null,
    limit: number,
    known: Pick<ReadonlySet<string>, 'has' | 'size'> = NOTHING,
  ): readonly Delivery[] {
    const rows: Delivery[] = [];
    for (const { key } of this.#pendingRows(endpointId, after, limit)) {
      if (known.size > 0 && known.has(idOf(key))) continue;
      const stored = this.#table.getBinary(key);
      if (stored !== undefined) rows.push(decodeRow(key, stored));
    }
    return rows;
  }

  /** Whether a probe is still to be sent to the endpoint, as far as its oldest `rowsMax` rows tell. */
  hasPendingProbe(endpointId: string, rowsMax: number): boolean {
    for (const { key } of this.#pendingRows(endpointId, null, rowsMax)) {
      const stored = this.#table.getBinary(key);
      if (stored !== undefined && headOf(key, stored).trigger === 'probe') return true;
    }
    return false;
  }

  /** The ids of all endpoints that something is to be sent to. */
  endpointsWithPending(): readonly string[] {
    return this.#counts().endpoints();
  }

  pendingCount(): number {
    return this.#counts().total;
  }

  pendingCountOf(endpointId: string): number {
    const endpoint = endpointKey(endpointId);
    return endpoint === null ? 0 : this.#counts().ofEndpoint(endpoint);
  }

  pendingCountOfCustomer(customer: CustomerNumber): number {
    return this.#counts().ofCustomer(customer);
  }

  /** When the oldest that is pending for a webhook was made, Unix ms to the second; null without any. */
  oldestPendingMs(): number | null {
    return this.#counts().oldestMs();
  }

  /** The mark of the last `insert`: journal entries up to it need not be read again. 0 before the first. */
  storedUpToSequence(): number {
    return this.#counters.get('dueStored');
  }

  /** Ends what is pending for an endpoint as `skipped`, oldest first, a bounded number of rows a call. */
  async skipPending(endpointId: string, order: SkipOrder): Promise<StoreWrite<Skipped>> {
    await this.#queue.settled();
    return this.#write(() => {
      const found = [...this.#pendingRows(endpointId, order.after, order.rowsMax)];
      let count = 0;
      for (const { customer, key } of found) if (this.#skip(customer, key, order)) count++;
      this.#evicted += this.#eviction.makeRoom();
      const last = found.at(-1);
      const next = found.length < order.rowsMax || last === undefined ? null : idOf(last.key);
      return { count, next };
    });
  }

  /** Removes rows that have ended and are older than 30 days, in at most `rowsMax` steps. Gives how many went. */
  async prune(nowMs: number, rowsMax: number): Promise<StoreWrite<number>> {
    const from = this.#pruneFrom;
    const { keys, next } = oldRows(this.#table, from, nowMs - this.#bounds.keepMs, rowsMax);
    const ended = keys.filter((key) => this.#hasEnded(key));
    const [first] = keys;
    // Where a customer's old rows are all pending, the call would find the same ones for ever.
    const isHeldUp = first !== undefined && ended.length === 0 && next === first.readUInt32BE(0);
    this.#pruneFrom = isHeldUp ? (next + 1) % 2 ** 32 : next;
    if (ended.length === 0) return { kind: 'ok', value: 0 };
    return this.#write(() => removeRows(this.#table, this.#tallies, 'deliveries', ended));
  }

  async #writeItems(items: readonly Item[]): Promise<StoreFault | null> {
    const written = await this.#write(() => {
      for (const item of items) this.#writeItem(item);
      this.#evicted += this.#eviction.makeRoom();
    });
    return written.kind === 'fault' ? written : null;
  }

  #writeItem(item: Item): void {
    switch (item.kind) {
      case 'new':
        return this.#insert(item);
      case 'update':
        return this.#update(item.update);
      case 'stored': {
        const rise = item.sequence - this.#counters.get('dueStored');
        if (rise > 0) this.#counters.rise('dueStored', rise);
        return;
      }
      default:
        return unreachable(item);
    }
  }

  #insert({ customer, key, value }: NewRow): void {
    if (this.#table.doesExist(key)) return;
    void this.#table.put(key, value);
    if (!isPending(value)) {
      this.#eviction.ended(customer, key);
      return;
    }
    const place = pendingKeyOf(key, value);
    void this.#index.put(place, withSum(place, u32Key(customer)));
    this.#counts().add(place, customer, 1);
  }

  #update(update: DeliveryUpdate): void {
    const key = deliveryKey(update.customer, update.id);
    // Borrowed: it holds until the next read.
    const stored = key === null ? undefined : this.#table.getBinaryFast(key);
    if (key === null || stored === undefined || !isPending(stored)) return;
    const value = updateRow(key, stored, update);
    void this.#table.put(key, value);
    if (isPending(value)) return;
    const place = pendingKeyOf(key, value);
    void this.#index.remove(place);
    this.#counts().add(place, update.customer, -1);
    this.#eviction.ended(update.customer, key);
  }

  #skip(customer: CustomerNumber, key: Buffer, { error, nowMs, isSkipped }: SkipOrder): boolean {
    const stored = this.#table.getBinary(key);
    if (stored === undefined) return false;
    const head = headOf(key, stored);
    if (isSkipped?.(head) === false) return false;
    const { elapsedMs } = decodeRow(key, stored);
    this.#update({
      customer,
      id: head.id,
      attempt: null,
      status: 'skipped',
      error,
      elapsedMs,
      completedAtMs: nowMs,
      nextAttemptAtMs: null,
    });
    return true;
  }

  /** Where an endpoint's pending rows are, oldest first. */
  *#pendingRows(
    endpointId: string,
    after: DeliveryId | null,
    limit: number,
  ): Generator<{ readonly customer: CustomerNumber; readonly key: Buffer }> {
    const endpoint = endpointKey(endpointId);
    if (endpoint === null) return;
    const seen = after === null ? null : deliveryKey(0 as CustomerNumber, after);
    const range = this.#index.getRange({
      start: seen === null ? endpoint : pendingKey(endpoint, seen),
      exclusiveStart: seen !== null,
      end: Buffer.concat([endpoint, Buffer.alloc(ID_BYTES + 1, 0xff)]),
      limit,
    });
    for (const { key: place, value } of range) {
      // A row's key is its customer's number and the id that the index key ends in.
      const key = Buffer.concat([value.subarray(0, 4), place.subarray(ENDPOINT_BYTES)]);
      yield { customer: key.readUInt32BE(0) as CustomerNumber, key };
    }
  }

  #hasEnded(key: Buffer): boolean {
    const stored = this.#table.getBinaryFast(key);
    return stored !== undefined && !isPending(stored);
  }

  #counts(): PendingCounts {
    this.#pending ??= PendingCounts.of(this.#index);
    return this.#pending;
  }

  /** Every write of this table goes through here. */
  async #write<T>(change: () => T): Promise<StoreWrite<T>> {
    this.#writing++;
    const written = await committed(this.#root, () => {
      // First of all, because later it would count what `change` adds itself.
      this.#counts();
      return change();
    });
    this.#writing--;
    if (written.kind === 'fault') this.#isStale = true;
    // Not while another write runs, of which only memory knows.
    if (this.#isStale && this.#writing === 0) {
      this.#isStale = false;
      this.#pending = null;
      this.#eviction.forget();
    }
    return written;
  }
}

function newRow(row: Delivery): NewRow {
  const key = deliveryKey(row.customer, row.id);
  if (key === null) throw new Error('a delivery needs an id of its own');
  return { kind: 'new', customer: row.customer, key, value: encodeRow(key, row) };
}

function answerOf(fault: StoreFault | null): StoreWrite<null> {
  return fault ?? { kind: 'ok', value: null };
}

function idOf(key: Buffer): DeliveryId {
  return rowIdOf('dlv', key) as DeliveryId;
}
