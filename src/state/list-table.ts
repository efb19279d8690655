import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber, FingerprintHash } from '../kernel/brand.ts';
import { pack, unpack } from '../kernel/pack.ts';
import { LIST_ACTIONS, type ListAction } from '../risk/decision.ts';
import { LIST_ENTRIES_PER_CUSTOMER_MAX, LIST_EXPIRY_SECONDS_MAX } from '../kernel/limits.ts';
import { committed, durably, durablyTogether, type StoreWrite } from './durable.ts';
import { removeRows } from './request-rows.ts';
import { LIST_SCAN_ROWS_MAX } from './table-names.ts';
import type { RowCounters } from './row-counters.ts';
import { u32Key, withoutSum, withSum } from './value.ts';
import { TableWalk } from './table-walk.ts';
import { type Slices, walkInSlices } from './turns.ts';

export interface ListEntry {
  readonly fingerprintHash: FingerprintHash;
  readonly action: ListAction;
  readonly note: string | null;
  readonly createdAtSeconds: number;
  readonly updatedAtSeconds: number;
  readonly expiresAtSeconds: number | null;
}

export interface ListChange {
  readonly fingerprintHash: FingerprintHash;
  readonly action: ListAction;
  readonly note: string | null;
  /** First second in which the entry is expired; `null` for never. */
  readonly expiresAtSeconds: number | null;
}

export interface ListPut {
  readonly created: boolean;
  readonly entry: ListEntry;
}

export interface ListPage {
  readonly entries: readonly ListEntry[];
  /**
   * The next page starts after this fingerprint; `null` at the end. Set although the page is not full if `LIST_SCAN_ROWS_MAX` rows were
   * scanned.
   */
  readonly next: FingerprintHash | null;
}

export interface ListQuery {
  readonly after: FingerprintHash | null;
  readonly limit: number;
  readonly action: ListAction | null;
}

const KEY_BYTES = 36;
const EXPIRY_AT = 1;
const REST_AT = 5;
const U32_MAX = 0xffff_ffff;

/**
 * The lists of all customers. A key begins with the customer's number, and no method takes a key: no caller can read another customer's
 * list.
 */
export class Lists {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #table: Database<Buffer, Buffer>;
  /** Choice: `find` writes its key here instead of allocating a buffer per call; it is never kept across an await. */
  readonly #scratch = Buffer.alloc(KEY_BYTES);
  readonly #rowCounters: RowCounters;
  readonly #entriesMax: number;
  readonly #walk: TableWalk;

  constructor(
    root: RootDatabase<Buffer, Buffer>,
    table: Database<Buffer, Buffer>,
    rowCounters: RowCounters,
    entriesMax = LIST_ENTRIES_PER_CUSTOMER_MAX,
  ) {
    this.#root = root;
    this.#table = table;
    this.#rowCounters = rowCounters;
    this.#entriesMax = entriesMax;
    this.#walk = new TableWalk(table);
  }

  /** On the hot path. Measured: 1.7 µs with 1,000,000 entries in each of two tables, keys in random order. */
  find(customer: CustomerNumber, fingerprintHash: FingerprintHash, nowSeconds: number): ListAction | null {
    const key = this.#scratch;
    key.writeUInt32BE(customer, 0);
    key.write(fingerprintHash, 4, 'hex');
    const stored = this.#table.getBinaryFast(key);
    if (stored === undefined) return null;
    return counts(stored, nowSeconds) ? actionOf(stored) : null;
  }

  /** Returns the whole entry, for management. */
  get(customer: CustomerNumber, fingerprintHash: FingerprintHash, nowSeconds: number): ListEntry | null {
    const stored = this.#table.getBinary(keyOf(customer, fingerprintHash));
    return stored === undefined || !counts(stored, nowSeconds) ? null : decode(fingerprintHash, stored);
  }

  async put(
    customer: CustomerNumber,
    change: ListChange,
    nowSeconds: number,
  ): Promise<StoreWrite<ListPut | 'limit_reached'>> {
    return durably(this.#root, () => this.#put(customer, change, nowSeconds));
  }

  /**
   * Writes all changes or none. The results are in the order of the changes. Rows are encoded in slices before the write, so that the write
   * itself is short. Measured: 1,000 entries hold the thread for 1 ms at most, in one transaction for 8 ms.
   * New entries are counted in an earlier transaction: if the process ends between the two, the count stays too high by their number.
   */
  async putMany(
    customer: CustomerNumber,
    changes: readonly ListChange[],
    nowSeconds: number,
    slices: Slices | null = null,
  ): Promise<StoreWrite<readonly ListPut[] | 'limit_reached'>> {
    const puts: ListPut[] = [];
    const rows: { readonly key: Buffer; readonly value: Buffer }[] = [];
    const own = new Map<FingerprintHash, ListEntry>();
    const unseen: Buffer[] = [];
    for (const change of changes) {
      const { fingerprintHash } = change;
      const before = own.get(fingerprintHash) ?? this.get(customer, fingerprintHash, nowSeconds);
      const entry = entryOf(change, before, nowSeconds);
      const key = keyOf(customer, fingerprintHash);
      // The row of an expired entry may still exist.
      if (before === null) unseen.push(key);
      own.set(fingerprintHash, entry);
      rows.push({ key, value: withSum(key, encode(entry)) });
      puts.push({ created: before === null, entry });
      if (slices?.isOver === true) await slices.begin();
    }
    const reserved = await this.#reserve(customer, unseen);
    if (reserved.kind === 'fault') return reserved;
    const added = reserved.value;
    if (added === 'limit_reached') return { kind: 'ok', value: added };
    const written = await durablyTogether(this.#root, () => {
      // If the write fails, every put rejects with the same error as the batch.
      for (const { key, value } of rows) this.#table.put(key, value).catch(() => {});
      return puts;
    });
    if (written.kind === 'fault' && added > 0)
      await committed(this.#root, () => this.#rowCounters.add('lists', customer, -added));
    return written;
  }

  /** Counts the keys that have no row. Measured: see `putMany`. */
  async #reserve(customer: CustomerNumber, keys: readonly Buffer[]): Promise<StoreWrite<number | 'limit_reached'>> {
    if (keys.length === 0) return { kind: 'ok', value: 0 };
    return committed(this.#root, () => {
      const added = keys.filter((key) => !this.#table.doesExist(key)).length;
      if (added > this.#roomOf(customer)) return 'limit_reached';
      this.#rowCounters.add('lists', customer, added);
      return added;
    });
  }

  #roomOf(customer: CustomerNumber): number {
    return this.#entriesMax - this.#rowCounters.get('lists', customer);
  }

  /** Removes the entry. Resolves to whether an unexpired one existed. */
  async remove(
    customer: CustomerNumber,
    fingerprintHash: FingerprintHash,
    nowSeconds: number,
  ): Promise<StoreWrite<boolean>> {
    return durably(this.#root, () => {
      const found = this.find(customer, fingerprintHash, nowSeconds) !== null;
      removeRows(this.#table, this.#rowCounters, 'lists', [keyOf(customer, fingerprintHash)]);
      return found;
    });
  }

  /**
   * Removes expired entries among the next `rowsMax` rows of all customers, and returns how many were removed. The next call continues
   * after them and starts over at the end. Writes only if an entry has expired. Measured: 0.4 µs per row.
   */
  async sweepExpired(nowSeconds: number, rowsMax: number): Promise<StoreWrite<number>> {
    const expired = this.#walk.next(rowsMax, (value) => !counts(value, nowSeconds));
    if (expired.length === 0) return { kind: 'ok', value: 0 };
    return durably(this.#root, () => {
      // The customer may have put them again since they were read.
      const still = expired.filter((key) => {
        const stored = this.#table.getBinary(key);
        return stored !== undefined && !counts(stored, nowSeconds);
      });
      return removeRows(this.#table, this.#rowCounters, 'lists', still);
    });
  }

  /**
   * Returns a page in the order of the fingerprints, without expired entries. Scans at most `LIST_SCAN_ROWS_MAX` rows, in slices. Entries
   * written meanwhile may or may not be on the page.
   */
  async page(customer: CustomerNumber, query: ListQuery, nowSeconds: number, slices: Slices): Promise<ListPage> {
    const entries: ListEntry[] = [];
    let last: FingerprintHash | null = null;
    let next: FingerprintHash | null = null;
    let rows = 0;
    const range = {
      start: query.after === null ? u32Key(customer) : keyOf(customer, query.after),
      exclusiveStart: query.after !== null,
      end: customer === U32_MAX ? Buffer.alloc(KEY_BYTES + 1, 0xff) : u32Key(customer + 1),
    };
    await walkInSlices(this.#table, range, slices, (key, value) => {
      if (rows === LIST_SCAN_ROWS_MAX) {
        next = last;
        return 'end';
      }
      rows++;
      const wanted = counts(value, nowSeconds) && (query.action === null || actionOf(value) === query.action);
      // A further entry after a full page shows that there is a next page.
      if (wanted && entries.length === query.limit) {
        next = entries.at(-1)?.fingerprintHash ?? null;
        return 'end';
      }
      last = Buffer.from(key).toString('hex', 4) as FingerprintHash;
      if (wanted) entries.push(decode(last, value));
      return 'on';
    });
    return { entries, next };
  }

  #put(customer: CustomerNumber, change: ListChange, nowSeconds: number): ListPut | 'limit_reached' {
    const before = this.get(customer, change.fingerprintHash, nowSeconds);
    const entry = entryOf(change, before, nowSeconds);
    const key = keyOf(customer, change.fingerprintHash);
    if (before === null && !this.#table.doesExist(key)) {
      if (this.#roomOf(customer) < 1) return 'limit_reached';
      this.#rowCounters.add('lists', customer, 1);
    }
    void this.#table.put(key, withSum(key, encode(entry)));
    return { created: before === null, entry };
  }
}

function entryOf(change: ListChange, before: ListEntry | null, nowSeconds: number): ListEntry {
  return {
    fingerprintHash: change.fingerprintHash,
    action: change.action,
    note: change.note,
    createdAtSeconds: before?.createdAtSeconds ?? nowSeconds,
    updatedAtSeconds: nowSeconds,
    expiresAtSeconds: change.expiresAtSeconds === null ? null : boundedExpiry(change.expiresAtSeconds),
  };
}

function keyOf(customer: CustomerNumber, fingerprintHash: FingerprintHash): Buffer {
  const key = Buffer.alloc(KEY_BYTES);
  key.writeUInt32BE(customer, 0);
  key.write(fingerprintHash, 4, 'hex');
  return key;
}

/** In a stored value 0 means never, so an expiry is between 1 and 2^32 - 1 (the year 2106). */
function boundedExpiry(seconds: number): number {
  return Math.min(LIST_EXPIRY_SECONDS_MAX, Math.max(1, Math.floor(seconds)));
}

function encode(entry: ListEntry): Buffer {
  const rest = pack([entry.note, entry.createdAtSeconds, entry.updatedAtSeconds]);
  const value = Buffer.allocUnsafe(REST_AT + rest.length);
  value.writeUInt8(LIST_ACTIONS.indexOf(entry.action), 0);
  value.writeUInt32BE(entry.expiresAtSeconds ?? 0, EXPIRY_AT);
  value.set(rest, REST_AT);
  return value;
}

function decode(fingerprintHash: FingerprintHash, stored: Uint8Array): ListEntry {
  const action = actionOf(stored);
  if (action === null) throw new Error('a stored list entry has an unknown action');
  const [note, created, updated] = unpack(withoutSum(stored).subarray(REST_AT));
  const expiry = viewOf(stored).readUInt32BE(EXPIRY_AT);
  return {
    fingerprintHash,
    action,
    note: typeof note === 'string' ? note : null,
    createdAtSeconds: Number(created),
    updatedAtSeconds: Number(updated),
    expiresAtSeconds: expiry === 0 ? null : expiry,
  };
}

/** Returns whether a stored entry has not expired; reads its header only. */
function counts(stored: Uint8Array, nowSeconds: number): boolean {
  const expiry = viewOf(stored).readUInt32BE(EXPIRY_AT);
  return expiry === 0 || nowSeconds < expiry;
}

function actionOf(stored: Uint8Array): ListAction | null {
  return LIST_ACTIONS[stored[0] ?? -1] ?? null;
}

function viewOf(stored: Uint8Array): Buffer {
  return Buffer.isBuffer(stored) ? stored : Buffer.from(stored.buffer, stored.byteOffset, stored.length);
}
