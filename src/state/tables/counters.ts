import type { Database } from 'lmdb';
import { COUNTERS, type CounterName } from './table-names.ts';
import { withSum } from './value.ts';

/** The counters of an installation. Those that give out numbers only increase, so a number is never given out twice. */
export class Counters {
  readonly #table: Database<Buffer, Buffer>;

  constructor(table: Database<Buffer, Buffer>) {
    this.#table = table;
  }

  /** Returns 0 before the first `rise`. */
  get(name: CounterName): number {
    return this.#table.getBinary(keyOf(name))?.readDoubleBE(0) ?? 0;
  }

  /** Must be called inside a write transaction. Returns the new value. */
  rise(name: CounterName, by = 1): number {
    const next = this.get(name) + by;
    this.set(name, next);
    return next;
  }

  /** For a position, which may go back. Must be called inside a write transaction. */
  set(name: CounterName, next: number): void {
    const key = keyOf(name);
    const value = Buffer.allocUnsafe(8);
    value.writeDoubleBE(next);
    // Inside a batch, the promise rejects with the same error as the batch.
    Promise.resolve(this.#table.put(key, withSum(key, value))).catch(() => {});
  }
}

function keyOf(name: CounterName): Buffer {
  return Buffer.from([COUNTERS[name]]);
}
