import type { Database } from 'lmdb';
import type { CustomerNumber } from '../base/brand.ts';
import { TALLIES, type TallyName } from './tables.ts';
import { withSum } from './value.ts';

/** How many rows each customer has in the tables that are bounded for each customer, so that nothing is counted row by row. */
export class Tallies {
  readonly #table: Database<Buffer, Buffer>;

  constructor(table: Database<Buffer, Buffer>) {
    this.#table = table;
  }

  get(name: TallyName, customer: CustomerNumber): number {
    return this.#table.getBinary(keyOf(name, customer))?.readDoubleBE(0) ?? 0;
  }

  /** Only inside the write transaction that adds or removes those rows. Answers the new number. */
  add(name: TallyName, customer: CustomerNumber, rows: number): number {
    const before = this.get(name, customer);
    if (rows === 0) return before;
    const key = keyOf(name, customer);
    const value = Buffer.allocUnsafe(8);
    value.writeDoubleBE(Math.max(0, before + rows));
    void this.#table.put(key, withSum(key, value));
    return before + rows;
  }
}

function keyOf(name: TallyName, customer: CustomerNumber): Buffer {
  const key = Buffer.allocUnsafe(5);
  key.writeUInt8(TALLIES[name], 0);
  key.writeUInt32BE(customer, 1);
  return key;
}
