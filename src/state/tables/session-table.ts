import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type { BrowserSession } from '../../work/extraction-job.ts';
import { committed, durably, type StoreWrite } from './durable.ts';
import { BYTES_FIELD, packedNumber, packedFields, packedText } from './packed-fields.ts';
import { endOfCustomer } from './request-rows.ts';
import { encrypt, decrypt } from '../../kernel/encryption.ts';
import { TableWalk } from './table-walk.ts';
import { type Slices, walkInSlices } from './turns.ts';
import { type OwnKey, ownKey, type TypedTable, typedTable } from './typed-table.ts';
import { u32Key } from './value.ts';

/** Choice: one per site that a customer reads, with room for future ones. */
const SESSIONS_PER_CUSTOMER_MAX = 1_000;

const KEY = ownKey('ses');
const VALUE = packedFields<SessionValue>({
  host: packedText(),
  createdAtMs: packedNumber(),
  expiresAtMs: packedNumber(),
  sealed: BYTES_FIELD,
});
type SessionValue = Omit<BrowserSession, 'customer' | 'id'> & { readonly sealed: Uint8Array };

/**
 * Sessions supplied by customers: cookies and headers, encrypted and bound by their context to the customer and the host. The content is
 * JSON of the caller.
 */
export class Sessions {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #table: TypedTable<OwnKey<string>, SessionValue>;
  readonly #walk: TableWalk;
  readonly #perCustomerMax: number;

  constructor(
    root: RootDatabase<Buffer, Buffer>,
    database: Database<Buffer, Buffer>,
    perCustomerMax = SESSIONS_PER_CUSTOMER_MAX,
  ) {
    this.#root = root;
    this.#table = typedTable({ database, key: KEY, value: VALUE });
    this.#walk = new TableWalk(database);
    this.#perCustomerMax = perCustomerMax;
  }

  /** Expired sessions count towards the limit until they are swept. */
  create(
    key: Uint8Array,
    session: BrowserSession,
    content: Uint8Array,
  ): Promise<StoreWrite<'created' | 'limit_reached'>> {
    const { customer } = session;
    return durably(this.#root, () => {
      const count = this.#table.database.getKeysCount({ start: u32Key(customer), end: endOfCustomer(customer) });
      if (count >= this.#perCustomerMax) return 'limit_reached';
      this.#put(key, session, content);
      return 'created';
    });
  }

  /** Returns null if there is none, or it has expired. */
  find(customer: CustomerNumber, id: string, nowMs: number): BrowserSession | null {
    const row = this.#read(customer, id);
    return row === null || row.session.expiresAtMs <= nowMs ? null : row.session;
  }

  /** Returns the content; null if there is none, it has expired, or it was encrypted under another key. */
  contentOf(key: Uint8Array, customer: CustomerNumber, id: string, nowMs: number): Buffer | null {
    const row = this.#read(customer, id);
    if (row === null || row.session.expiresAtMs <= nowMs) return null;
    return decrypt(key, row.sealed, contextOf(row.session));
  }

  /** Newest first, after `after`. Skips expired sessions. */
  async page(
    customer: CustomerNumber,
    { after, limit }: { readonly after: string | null; readonly limit: number },
    nowMs: number,
    slices: Slices,
  ): Promise<{ readonly rows: readonly BrowserSession[]; readonly next: string | null }> {
    const rows: BrowserSession[] = [];
    let next: string | null = null;
    const start = (after === null ? null : KEY.encode({ customer, id: after })) ?? endOfCustomer(customer);
    const range = { start, exclusiveStart: true, end: u32Key(customer), reverse: true };
    await walkInSlices(this.#table.database, range, slices, (key, value) => {
      const { session } = rowOf(KEY.decode(Buffer.from(key)), this.#table.decode(Buffer.from(value)));
      if (session.expiresAtMs <= nowMs) return 'on';
      // A further row after a full page shows that there is a next page.
      if (rows.length === limit) {
        next = rows.at(-1)?.id ?? null;
        return 'end';
      }
      rows.push(session);
      return 'on';
    });
    return { rows, next };
  }

  /** Resolves to whether it existed. */
  remove(customer: CustomerNumber, id: string): Promise<StoreWrite<boolean>> {
    return durably(this.#root, () => this.#table.remove({ customer, id }));
  }

  /**
   * Must be called inside a write transaction, so that nothing changes the session between reading and writing. Replaces the content. A
   * session that does not exist, or was encrypted under another key, stays unchanged.
   */
  changeContent(key: Uint8Array, customer: CustomerNumber, id: string, change: ContentChange): void {
    const row = this.#read(customer, id);
    const content = row === null ? null : decrypt(key, row.sealed, contextOf(row.session));
    const changed = content === null ? null : change(content);
    if (row !== null && changed !== null) this.#put(key, row.session, changed);
  }

  /** Removes expired sessions among the next `rowsMax`. */
  sweep(nowMs: number, rowsMax: number): Promise<StoreWrite<number>> {
    const keys = this.#walk.next(rowsMax, (value) => this.#table.decode(value).expiresAtMs <= nowMs);
    if (keys.length === 0) return Promise.resolve({ kind: 'ok', value: 0 });
    return committed(this.#root, () => {
      for (const key of keys) this.#table.removeKey(key);
      return keys.length;
    });
  }

  #read(customer: CustomerNumber, id: string): Row | null {
    const value = this.#table.get({ customer, id });
    return value && rowOf({ customer, id }, value);
  }

  #put(key: Uint8Array, session: BrowserSession, content: Uint8Array): void {
    this.#table.put(session, { ...session, sealed: encrypt(key, content, contextOf(session)) });
  }
}

/** What code outside the store sees of the table: in a cluster, writes go through the log of all nodes. */
export type SessionStore = Pick<Sessions, keyof Sessions>;

/** Maps a session's content to its new content; null leaves it unchanged. */
export type ContentChange = (content: Buffer) => Uint8Array | null;

interface Row {
  readonly session: BrowserSession;
  readonly sealed: Uint8Array;
}

/** Includes the host, so that what was encrypted for one host is useless under another's name. */
function contextOf({ customer, id, host }: BrowserSession): string {
  return `session/${customer}/${id}/${host}`;
}

function rowOf(key: OwnKey<string>, { sealed, ...rest }: SessionValue): Row {
  return { session: { ...key, ...rest }, sealed };
}
