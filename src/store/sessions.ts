import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../base/brand.ts';
import { pack, unpack } from '../base/pack.ts';
import type { BrowserSession } from '../core/extraction.ts';
import { committed, durably, type StoreWrite } from './durable.ts';
import { endOfCustomer, rowIdOf, rowKey } from './request-rows.ts';
import { seal, unseal } from './sealed.ts';
import { TableWalk } from './table-walk.ts';
import { type Slices, walkInSlices } from './turns.ts';
import { u32Key, withoutSum, withSum } from './value.ts';

/** Choice: one for each site that a customer reads, and room for those to come. */
const SESSIONS_PER_CUSTOMER_MAX = 1_000;

/**
 * Sessions that customers supplied: cookies and headers, sealed, bound by their context to the customer and to the host. What they
 * hold is JSON of the caller's.
 */
export class Sessions {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #table: Database<Buffer, Buffer>;
  readonly #walk: TableWalk;
  readonly #perCustomerMax: number;

  constructor(
    root: RootDatabase<Buffer, Buffer>,
    table: Database<Buffer, Buffer>,
    perCustomerMax = SESSIONS_PER_CUSTOMER_MAX,
  ) {
    this.#root = root;
    this.#table = table;
    this.#walk = new TableWalk(table);
    this.#perCustomerMax = perCustomerMax;
  }

  /** Those that have expired count as well until they are swept. */
  create(
    key: Uint8Array,
    session: BrowserSession,
    content: Uint8Array,
  ): Promise<StoreWrite<'created' | 'limit_reached'>> {
    const { customer } = session;
    return durably(this.#root, () => {
      const count = this.#table.getKeysCount({ start: u32Key(customer), end: endOfCustomer(customer) });
      if (count >= this.#perCustomerMax) return 'limit_reached';
      this.#put(key, session, content);
      return 'created';
    });
  }

  /** null: there is none, or it has expired. */
  find(customer: CustomerNumber, id: string, nowMs: number): BrowserSession | null {
    const row = this.#read(customer, id);
    return row === null || row.session.expiresAtMs <= nowMs ? null : row.session;
  }

  /** What it holds; null where there is none, it has expired, or it was sealed under another key. */
  contentOf(key: Uint8Array, customer: CustomerNumber, id: string, nowMs: number): Buffer | null {
    const row = this.#read(customer, id);
    if (row === null || row.session.expiresAtMs <= nowMs) return null;
    return unseal(key, row.sealed, contextOf(row.session));
  }

  /** Newest first, behind `after`. Those that have expired are left out. */
  async page(
    customer: CustomerNumber,
    { after, limit }: { readonly after: string | null; readonly limit: number },
    nowMs: number,
    slices: Slices,
  ): Promise<{ readonly rows: readonly BrowserSession[]; readonly next: string | null }> {
    const rows: BrowserSession[] = [];
    let next: string | null = null;
    const start = (after === null ? null : rowKey('ses', customer, after)) ?? endOfCustomer(customer);
    const range = { start, exclusiveStart: true, end: u32Key(customer), reverse: true };
    await walkInSlices(this.#table, range, slices, (key, value) => {
      const { session } = decode(Buffer.from(key), Buffer.from(value));
      if (session.expiresAtMs <= nowMs) return 'on';
      // One row more than the page holds tells that there is a next one.
      if (rows.length === limit) {
        next = rows.at(-1)?.id ?? null;
        return 'end';
      }
      rows.push(session);
      return 'on';
    });
    return { rows, next };
  }

  /** Whether it was there. */
  remove(customer: CustomerNumber, id: string): Promise<StoreWrite<boolean>> {
    const key = rowKey('ses', customer, id);
    return durably(this.#root, () => {
      if (key === null || !this.#table.doesExist(key)) return false;
      void this.#table.remove(key);
      return true;
    });
  }

  /**
   * Only inside a write transaction, so that nobody changes it between the reading and the writing: what it holds from now on. One
   * that is not there, or was sealed under another key, stays as it is.
   */
  changeContent(key: Uint8Array, customer: CustomerNumber, id: string, change: ContentChange): void {
    const row = this.#read(customer, id);
    const content = row === null ? null : unseal(key, row.sealed, contextOf(row.session));
    const changed = content === null ? null : change(content);
    if (row !== null && changed !== null) this.#put(key, row.session, changed);
  }

  /** Removes those that have expired among the next `rowsMax`. */
  sweep(nowMs: number, rowsMax: number): Promise<StoreWrite<number>> {
    const keys = this.#walk.next(rowsMax, (value) => expiryOf(value) <= nowMs);
    if (keys.length === 0) return Promise.resolve({ kind: 'ok', value: 0 });
    return committed(this.#root, () => {
      for (const key of keys) void this.#table.remove(key);
      return keys.length;
    });
  }

  #read(customer: CustomerNumber, id: string): Row | null {
    const key = rowKey('ses', customer, id);
    const stored = key === null ? undefined : this.#table.getBinary(key);
    return key === null || stored === undefined ? null : decode(key, Buffer.from(stored));
  }

  #put(key: Uint8Array, session: BrowserSession, content: Uint8Array): void {
    const place = rowKey('ses', session.customer, session.id);
    if (place === null) throw new Error('a session needs an id of its own');
    const { host, createdAtMs, expiresAtMs } = session;
    const sealed = seal(key, content, contextOf(session));
    void this.#table.put(place, withSum(place, pack([host, createdAtMs, expiresAtMs, sealed])));
  }
}

/** What a session holds → what it is to hold; null: the same. */
export type ContentChange = (content: Buffer) => Uint8Array | null;

interface Row {
  readonly session: BrowserSession;
  readonly sealed: Uint8Array;
}

/** The host is part of it, so that what was sealed for one is of no use under another's name. */
function contextOf({ customer, id, host }: BrowserSession): string {
  return `session/${customer}/${id}/${host}`;
}

function decode(key: Buffer, stored: Buffer): Row {
  const [host, createdAt, expiresAt, sealed] = unpack(withoutSum(stored));
  if (!(sealed instanceof Uint8Array)) throw new Error('a stored session has the wrong form');
  const session: BrowserSession = {
    id: rowIdOf('ses', key),
    customer: key.readUInt32BE(0) as CustomerNumber,
    host: String(host),
    createdAtMs: Number(createdAt),
    expiresAtMs: Number(expiresAt),
  };
  return { session, sealed };
}

function expiryOf(stored: Buffer): number {
  return Number(unpack(withoutSum(stored))[2]);
}
