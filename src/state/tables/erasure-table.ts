import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { committed, type StoreFault } from './durable.ts';
import { endOfCustomer, rowKey } from './request-rows.ts';
import { type Slices, walkInSlices } from './turns.ts';
import { codec, ownKey, type OwnKey, type Schema, type TypedTable, typedTable } from './typed-table.ts';
import { u32Key, withSum } from './value.ts';

/**
 * A person to be forgotten. The value that names the person is encrypted, and only until the erasure has ended. `marks` stay: keyed hashes
 * of the hashes under which tables hold the person, with a key that no table uses. They recognise rows, and nothing else.
 */
export interface Erasure {
  readonly id: string;
  /** `entity.<name>`, `ip` or `browser`. */
  readonly subject: string;
  readonly keepBlocks: boolean;
  readonly marks: readonly string[];
  /** Null once the erasure has ended, and for one that is repeated after a restore. */
  readonly encrypted: Uint8Array | null;
  /** Rows of later events are not about this request. */
  readonly requestedAtMs: number;
}

export interface ErasureFinish {
  readonly atMs: number;
  /** Place → rows that were erased there. */
  readonly erased: Readonly<Record<string, number>>;
  /** Place → rows that were found and stay. */
  readonly kept: Readonly<Record<string, number>>;
}

export interface StoredErasure extends Erasure {
  /** Null until it has ended. */
  readonly finish: ErasureFinish | null;
}

/** Choice: a customer's erasures of years, some 300 bytes each. */
export const ERASURES_PER_CUSTOMER_MAX = 100_000;

/** The erasures of all customers. They are kept as long as the customer, because a backup of any age may be restored. */
export class Erasures {
  readonly #table: TypedTable<OwnKey<string>, StoredErasure>;

  constructor(database: Database<Buffer, Buffer>) {
    this.#table = typedTable({ database, key: KEY, value: codec(ERASURE, 1) });
  }

  find(customer: CustomerNumber, id: string): StoredErasure | null {
    return this.#table.get({ customer, id });
  }

  count(customer: CustomerNumber): number {
    return this.#table.database.getKeysCount({ start: u32Key(customer), end: endOfCustomer(customer) });
  }

  /** Passes the erasures of all customers, in slices. */
  async each(slices: Slices, visit: (customer: CustomerNumber, erasure: StoredErasure) => void): Promise<void> {
    await walkInSlices(this.#table.database, {}, slices, (key, value) => {
      visit(KEY.decode(Buffer.from(key)).customer, this.#table.decode(Buffer.from(value)));
      return 'on';
    });
  }

  /** For `apply`, inside its transaction. */
  put(customer: CustomerNumber, erasure: StoredErasure): void {
    this.#table.put({ customer, id: erasure.id }, erasure);
  }
}

const KEY = ownKey<string>('prv');

const ERASURE: Schema<StoredErasure> = {
  parse(value) {
    const { id, subject, keepBlocks, marks, encrypted, requestedAtMs, finish } = Object(value) as Readonly<
      Record<keyof StoredErasure, unknown>
    >;
    if (typeof id !== 'string' || typeof subject !== 'string' || !Array.isArray(marks))
      throw new Error('a stored erasure has the wrong form');
    return {
      id,
      subject,
      keepBlocks: keepBlocks === true,
      marks: marks.map(String),
      encrypted: encrypted instanceof Uint8Array ? Buffer.from(encrypted) : null,
      requestedAtMs: Number(requestedAtMs),
      finish: finish === null || finish === undefined ? null : readFinish(finish),
    };
  },
};

function readFinish(value: unknown): ErasureFinish {
  const { atMs, erased, kept } = Object(value) as Readonly<Record<keyof ErasureFinish, unknown>>;
  return { atMs: Number(atMs), erased: counts(erased), kept: counts(kept) };
}

function counts(value: unknown): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(Object(value) as object).map(([name, count]) => [name, Number(count)]));
}

/**
 * The erasures that this node has carried out in `hot`. The table is in `hot` itself, so that a copy of it from a backup says what was
 * erased in the copy.
 */
export class Erased {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #table: Database<Buffer, Buffer>;

  constructor(root: RootDatabase<Buffer, Buffer>, table: Database<Buffer, Buffer>) {
    this.#root = root;
    this.#table = table;
  }

  has(customer: CustomerNumber, id: string): boolean {
    const key = rowKey('prv', customer, id);
    return key !== null && this.#table.doesExist(key);
  }

  /** Returns null on success. */
  async note(customer: CustomerNumber, id: string): Promise<StoreFault | null> {
    const key = rowKey('prv', customer, id);
    if (key === null) return null;
    const written = await committed(this.#root, () => void this.#table.put(key, withSum(key, Buffer.alloc(0))));
    return written.kind === 'fault' ? written : null;
  }
}
