import type { KeptMsOf } from './request-rows.ts';
import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { AUDIT_EVICTION_KEYS_MAX, AUDIT_SCAN_ROWS_MAX } from '../../kernel/limits.ts';
import { AUDIT_KINDS, type AuditEntry, type AuditFacts, type AuditKind } from '../../work/audit.ts';
import { endOfCustomer } from './request-rows.ts';
import type { RowCounters } from './row-counters.ts';
import { codec, type KeyForm, type Schema, type StoredRow, type TypedTable, typedTable } from './typed-table.ts';
import { type Slices, walkInSlices } from './turns.ts';
import { u32Key } from './value.ts';

/** The customer under which changes that concern no customer are recorded; customers are numbered from 1. */
export const NO_CUSTOMER = 0 as CustomerNumber;

export interface AuditKey {
  readonly customer: CustomerNumber;
  readonly atMs: number;
  /** Unique in this store. */
  readonly number: number;
  /** Whether the entry is about an account (its keys, webhooks, the registry) and not about content (lists, labels, health). */
  readonly isAccount: boolean;
}

/** What an entry says without naming anybody. */
export type AuditHead = Pick<AuditEntry, 'kind' | 'atMs'>;

export interface AuditQuery {
  /** The position of the last entry of the previous page, as `AuditPage.next`; null to start with the newest. */
  readonly after: string | null;
  readonly limit: number;
  readonly kind: AuditKind | null;
  /** Entries from then on; null for all. */
  readonly sinceMs: number | null;
  /** Entries before that time; null for all. */
  readonly untilMs: number | null;
}

export interface AuditPage {
  /** Newest first. */
  readonly entries: readonly AuditEntry[];
  /** The next page starts after this position; null at the end. May be set although the page is not full. */
  readonly next: string | null;
}

const KEY_BYTES = 16;
const TIME_AT = 4;
const NUMBER_AT = 10;
const CLASS_AT = 15;

const KEY = {
  encode({ customer, atMs, number, isAccount }: AuditKey): Buffer {
    const key = Buffer.allocUnsafe(KEY_BYTES);
    key.writeUInt32BE(customer, 0);
    key.writeUIntBE(Math.max(0, Math.floor(atMs)), TIME_AT, 6);
    key.writeUIntBE(number, NUMBER_AT, 5);
    key.writeUInt8(isAccount ? 1 : 0, CLASS_AT);
    return key;
  },
  decode: (key) => ({
    customer: key.readUInt32BE(0) as CustomerNumber,
    atMs: key.readUIntBE(TIME_AT, 6),
    number: key.readUIntBE(NUMBER_AT, 5),
    isAccount: key.readUInt8(CLASS_AT) === 1,
  }),
} satisfies KeyForm<AuditKey>;

const ENTRY: Schema<AuditValue> = {
  parse(value) {
    if (!isFacts(value)) throw new Error('a stored audit entry has the wrong form');
    const { by, kind, target, before, after } = value;
    const known = AUDIT_KINDS.find((one) => one === kind);
    if (typeof by !== 'string' || known === undefined) throw new Error('a stored audit entry has the wrong form');
    const factsOf = (facts: unknown): AuditFacts | null => (isFacts(facts) ? facts : null);
    const named = typeof target === 'string' ? target : null;
    return { by, kind: known, target: named, before: factsOf(before), after: factsOf(after) };
  },
};
const VALUE = codec(ENTRY, 1);
type AuditValue = Omit<AuditEntry, 'atMs'>;

function isFacts(value: unknown): value is AuditFacts {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const POSITION_FORM = /^[0-9a-f]{24}$/;

/** Who changed what, per customer and in the order of time. Written by `apply` in the transaction of the change. */
export class Audit {
  readonly #table: TypedTable<AuditKey, AuditValue>;
  readonly #rowCounters: RowCounters;

  constructor(database: Database<Buffer, Buffer>, by: RowCounters) {
    this.#rowCounters = by;
    this.#table = typedTable({ database, key: KEY, value: VALUE, counted: { by, as: 'audit' } });
  }

  /** For `apply`, inside its transaction. Counts an entry and returns its row, which is to be written by `putRow`. */
  reserve(key: AuditKey, entry: AuditValue): StoredRow {
    this.#rowCounters.add('audit', key.customer, 1);
    return this.#table.row(key, entry);
  }

  /** For `apply`, inside its transaction or batch. The promise is that of the batch. */
  putRow(row: StoredRow): Promise<boolean> {
    return this.#table.putRow(row);
  }

  /** For `apply`, inside its transaction. The entry stays, without what it is about. Returns whether there was one. */
  dropTarget(key: Buffer): boolean {
    const at = KEY.decode(key);
    const entry = this.#table.get(at);
    if (entry === null) return false;
    this.#table.put(at, { ...entry, target: null });
    return true;
  }

  /** Passes the stored key, the target, the kind and the time of each entry that has a target, in slices. */
  async eachTarget(
    customer: CustomerNumber,
    slices: Slices,
    visit: (key: Buffer, target: string, entry: AuditHead) => void,
  ): Promise<void> {
    const range = { start: u32Key(customer), end: endOfCustomer(customer) };
    await walkInSlices(this.#table.database, range, slices, (key, value) => {
      const { target, kind } = this.#table.decode(Buffer.from(value));
      const own = Buffer.from(key);
      if (target !== null) visit(own, target, { kind, atMs: KEY.decode(own).atMs });
      return 'on';
    });
  }

  rowsOf(customer: CustomerNumber): number {
    return this.#table.rowsOf(customer);
  }

  /** For `apply`: returns the oldest entry about content among the oldest ones, otherwise the oldest; null without entries. */
  evictable(customer: CustomerNumber): Buffer | null {
    const range = { start: u32Key(customer), end: endOfCustomer(customer), limit: AUDIT_EVICTION_KEYS_MAX };
    let oldest: Buffer | null = null;
    for (const key of this.#table.keys(range)) {
      if (key[CLASS_AT] === 0) return key;
      oldest ??= key;
    }
    return oldest;
  }

  /** For `apply`, inside its transaction. Returns whether there was a row. */
  removeRow(key: Buffer): boolean {
    return this.#table.removeKey(key);
  }

  /** Returns the keys of entries older than `keptMsOf`, in at most `rowsMax` steps; the next call continues. */
  expired(nowMs: number, keptMsOf: KeptMsOf, rowsMax: number): readonly Buffer[] {
    return this.#table.expired((customer) => nowMs - keptMsOf(customer), rowsMax);
  }

  /** Scans at most `AUDIT_SCAN_ROWS_MAX` rows, in slices. Entries written meanwhile may or may not be on the page. */
  async page(customer: CustomerNumber, query: AuditQuery, slices: Slices): Promise<AuditPage> {
    const entries: AuditEntry[] = [];
    let next: string | null = null;
    let scanned = 0;
    let last: Buffer | null = null;
    const { after, untilMs } = query;
    const end =
      untilMs === null ? endOfCustomer(customer) : KEY.encode({ customer, atMs: untilMs, number: 0, isAccount: false });
    const position = positionKey(customer, after);
    const range = {
      start: position === null || Buffer.compare(end, position) < 0 ? end : position,
      exclusiveStart: true,
      end: KEY.encode({ customer, atMs: query.sinceMs ?? 0, number: 0, isAccount: false }),
      reverse: true,
    };
    await walkInSlices(this.#table.database, range, slices, (key, value) => {
      if (entries.length === query.limit || scanned === AUDIT_SCAN_ROWS_MAX) {
        next = last === null ? null : last.toString('hex', TIME_AT);
        return 'end';
      }
      scanned++;
      last = Buffer.from(key);
      const entry = this.#table.decode(Buffer.from(value));
      if (query.kind === null || entry.kind === query.kind) entries.push({ atMs: KEY.decode(last).atMs, ...entry });
      return 'on';
    });
    return { entries, next };
  }
}

function positionKey(customer: CustomerNumber, position: string | null): Buffer | null {
  if (position === null || !POSITION_FORM.test(position)) return null;
  return Buffer.concat([u32Key(customer), Buffer.from(position, 'hex')]);
}
