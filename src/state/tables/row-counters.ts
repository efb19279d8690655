import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { TALLIES, type RowCounterName } from './table-names.ts';
import { withSum } from './value.ts';

/** Row counters per customer for the tables with a limit per customer, so that rows need not be counted one by one. */
export class RowCounters {
  readonly #table: Database<Buffer, Buffer>;

  constructor(table: Database<Buffer, Buffer>) {
    this.#table = table;
  }

  get(name: RowCounterName, customer: CustomerNumber): number {
    return this.#table.getBinary(keyOf(name, customer))?.readDoubleBE(0) ?? 0;
  }

  /** Must be called inside the write transaction that adds or removes those rows. Returns the new number. */
  add(name: RowCounterName, customer: CustomerNumber, rows: number): number {
    const before = this.get(name, customer);
    if (rows === 0) return before;
    const key = keyOf(name, customer);
    const value = Buffer.allocUnsafe(8);
    value.writeDoubleBE(Math.max(0, before + rows));
    // Inside a batch, the promise rejects with the same error as the batch.
    Promise.resolve(this.#table.put(key, withSum(key, value))).catch(() => {});
    return before + rows;
  }
}

function keyOf(name: RowCounterName, customer: CustomerNumber): Buffer {
  const key = Buffer.allocUnsafe(5);
  key.writeUInt8(TALLIES[name], 0);
  key.writeUInt32BE(customer, 1);
  return key;
}
