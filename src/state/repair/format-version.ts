import type { Database } from 'lmdb';
import { type EnvironmentName, type TableName } from '../tables/table-names.ts';
import { sumFits, withSum } from '../tables/value.ts';

/**
 * The record of an environment's format version: a row of its table of counters. Every version must keep its table, its key and its form,
 * so that every build can read the version of an environment that it cannot read otherwise.
 */
export const VERSION_TABLES = {
  state: 'meta',
  hot: 'hot-meta',
  extract: 'extract-meta',
} as const satisfies Readonly<Record<EnvironmentName, TableName>>;

/** Counters have the keys from 1 on. */
const VERSION_KEY = Buffer.from([0]);

/** Returns null if no version is recorded. Throws if the record is damaged. */
export function readVersion(table: Database<Buffer, Buffer>): number | null {
  const stored = table.getBinary(VERSION_KEY);
  if (stored === undefined) return null;
  const version = sumFits(VERSION_KEY, stored) ? stored.readDoubleBE(0) : Number.NaN;
  if (!Number.isSafeInteger(version) || version < 1) throw new Error('the record of the format version is damaged');
  return version;
}

/** Must be called inside a write transaction. */
export function putVersion(table: Database<Buffer, Buffer>, version: number): void {
  const value = Buffer.allocUnsafe(8);
  value.writeDoubleBE(version);
  void table.put(VERSION_KEY, withSum(VERSION_KEY, value));
}
