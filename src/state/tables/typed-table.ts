import type { Database, RangeOptions } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { pack, unpack } from '../../kernel/pack.ts';
import type { IdPrefix } from '../../kernel/ids.ts';
import { oldRows, requestIdOf, requestKey, rowIdOf, rowKey } from './request-rows.ts';
import type { RowCounters } from './row-counters.ts';
import type { RowCounterName } from './table-names.ts';
import { u32Key, withoutSum, withSum } from './value.ts';

/** How the values of a table are stored. The checksum is not part of it. */
export interface Codec<Value> {
  encode(value: Value): Buffer;
  /** Throws on bytes that `encode` cannot have written. */
  decode(bytes: Buffer): Value;
}

/** How the keys of a table are stored; their order is that of the bytes. */
export interface KeyForm<Key> {
  /** Null for a key that no row can have, such as a malformed id. */
  encode(key: Key): Buffer | null;
  decode(bytes: Buffer): Key;
}

/** Checks what was stored; a zod schema is one. Choice: not zod itself, whose loading would take 10 ms of each score worker's start. */
export interface Schema<Value> {
  /** Throws on a value of a wrong form. */
  parse(value: unknown): Value;
}

/** Leads a value of one version to the next. */
export type Upgrade = (value: unknown) => unknown;

/**
 * Values with a version: a byte with the version, then msgpack. `upgrades` has one entry for each older version, so that rows of older
 * builds are read as values of this one and are rewritten only when they change.
 */
export function codec<Value>(
  schema: Schema<Value>,
  version: number,
  upgrades: Readonly<Record<number, Upgrade>> = {},
): Codec<Value> {
  const first = Buffer.from([version]);
  return {
    encode: (value) => Buffer.concat([first, pack([value])]),
    decode(bytes) {
      const found = bytes[0] ?? 0;
      let [value] = unpack(bytes.subarray(1));
      for (let at = found; at !== version; at++) {
        const upgrade = upgrades[at];
        if (upgrade === undefined)
          throw new Error(`a stored value has version ${found}, and this build reads ${version}`);
        value = upgrade(value);
      }
      return schema.parse(value);
    },
  };
}

export interface TypedTableParts<Key, Value> {
  readonly database: Database<Buffer, Buffer>;
  readonly key: KeyForm<Key>;
  readonly value: Codec<Value>;
  /** Counts the rows of each customer, whose number begins the key. */
  readonly counted?: { readonly by: RowCounters; readonly as: RowCounterName };
}

/** A row as it is stored, with its checksum. */
export interface StoredRow {
  readonly key: Buffer;
  readonly value: Buffer;
}

export type RowRange = Pick<RangeOptions, 'start' | 'end' | 'exclusiveStart' | 'reverse' | 'limit'>;

/** A sub-database with typed rows. Methods that write must be called inside a write transaction. */
export interface TypedTable<Key, Value> {
  get(key: Key): Value | null;
  /** Yields rows in the order of their keys. */
  range(range: RowRange): Generator<readonly [Key, Value]>;
  /** Yields keys as they are stored. */
  keys(range: RowRange): Generator<Buffer>;
  /** Encodes a row without writing or counting it. */
  row(key: Key, value: Value): StoredRow;
  /** Writes an encoded row without counting it. The promise is that of the batch. */
  putRow(row: StoredRow): Promise<boolean>;
  /** Returns whether there was no row. */
  put(key: Key, value: Value): boolean;
  /** Returns whether there was a row. */
  remove(key: Key): boolean;
  /** Removes rows by their stored keys. */
  removeKey(key: Buffer): boolean;
  /** Number of a customer's rows, for a counted table. */
  rowsOf(customer: CustomerNumber): number;
  /**
   * Returns the stored keys of rows older than their customer's cut-off, in at most `rowsMax` steps; the next call continues. For keys that
   * begin with a customer's number and a time (`oldRows`).
   */
  expired(cutoffMsOf: (customer: CustomerNumber) => number, rowsMax: number): readonly Buffer[];
  /** The sub-database, for `walkInSlices`. */
  readonly database: Database<Buffer, Buffer>;
  /** Decodes a value as it is stored, which may be borrowed. */
  decode(stored: Buffer): Value;
}

export function typedTable<Key, Value>({
  database,
  key: form,
  value: values,
  counted,
}: TypedTableParts<Key, Value>): TypedTable<Key, Value> {
  const count = (key: Buffer, rows: number): void => {
    counted?.by.add(counted.as, key.readUInt32BE(0) as CustomerNumber, rows);
  };
  /** Customer with which the next `expired` continues. */
  let expiredFrom = 0;
  const decode = (stored: Buffer): Value => values.decode(withoutSum(stored));
  const row = (key: Key, value: Value): StoredRow => {
    const bytes = form.encode(key);
    if (bytes === null) throw new Error('a malformed key has no row');
    return { key: bytes, value: withSum(bytes, values.encode(value)) };
  };
  const removeKey = (key: Buffer): boolean => {
    const found = database.doesExist(key);
    if (found) {
      void database.remove(key);
      count(key, -1);
    }
    return found;
  };
  return {
    database,
    decode,
    removeKey,
    row,
    putRow: ({ key, value }) => database.put(key, value),
    get(key) {
      const bytes = form.encode(key);
      const stored = bytes === null ? undefined : database.getBinary(bytes);
      return stored === undefined ? null : decode(stored);
    },
    *range(range) {
      for (const { key, value } of database.getRange(range))
        yield [form.decode(Buffer.from(key)), decode(Buffer.from(value))];
    },
    *keys(range) {
      for (const key of database.getKeys(range)) yield Buffer.from(key);
    },
    put(key, value) {
      const stored = row(key, value);
      const isNew = !database.doesExist(stored.key);
      void database.put(stored.key, stored.value);
      if (isNew) count(stored.key, 1);
      return isNew;
    },
    remove(key) {
      const bytes = form.encode(key);
      return bytes !== null && removeKey(bytes);
    },
    expired(cutoffMsOf, rowsMax) {
      const { keys, next } = oldRows(database, expiredFrom, cutoffMsOf, rowsMax);
      expiredFrom = next;
      return keys;
    },
    rowsOf: (customer) => counted?.by.get(counted.as, customer) ?? 0,
  };
}

/** A customer's number, or any other u32, as a key or as a value. */
export function u32Form<Key extends number>(): Codec<Key> {
  return {
    encode: u32Key,
    decode: (bytes) => bytes.readUInt32BE(0) as Key,
  };
}

/** The key of a row about a customer's decision. */
export interface DecisionKey {
  readonly customer: CustomerNumber;
  readonly requestId: string;
}

export const DECISION_KEY: KeyForm<DecisionKey> = {
  encode: ({ customer, requestId }) => requestKey(customer, requestId),
  decode: (bytes) => ({ customer: bytes.readUInt32BE(0) as CustomerNumber, requestId: requestIdOf(bytes) }),
};

/** The key of a customer's row that has an id of its own. */
export interface OwnKey<Id extends string> {
  readonly customer: CustomerNumber;
  readonly id: Id;
}

export function ownKey<Id extends string>(prefix: IdPrefix): KeyForm<OwnKey<Id>> {
  return {
    encode: ({ customer, id }) => rowKey(prefix, customer, id),
    decode: (bytes) => ({ customer: bytes.readUInt32BE(0) as CustomerNumber, id: rowIdOf(prefix, bytes) as Id }),
  };
}

/** A fingerprint's hash, 64 lower-case hex digits, or any other text of hex digits, as its bytes. */
export function hexForm<Key extends string>(length: number): KeyForm<Key> {
  return {
    encode(text) {
      const bytes = Buffer.from(text, 'hex');
      return bytes.length === length ? bytes : null;
    },
    decode: (bytes) => bytes.toString('hex') as Key,
  };
}
