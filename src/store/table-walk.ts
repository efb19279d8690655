import type { Database } from 'lmdb';

/** Goes through a table some rows at a time, each call behind the one before, and at the end begins anew. */
export class TableWalk {
  readonly #table: Database<Buffer, Buffer>;
  /** The last key that was looked at; null at the beginning. */
  #after: Buffer | null = null;

  constructor(table: Database<Buffer, Buffer>) {
    this.#table = table;
  }

  /** The keys of the rows that are wanted among the next `rowsMax`. `value` is good until the call returns. */
  next(rowsMax: number, isWanted: (value: Buffer) => boolean): Buffer[] {
    const wanted: Buffer[] = [];
    let last: Buffer | null = null;
    let rows = 0;
    const range = this.#table.getRange({
      ...(this.#after !== null && { start: this.#after, exclusiveStart: true }),
      limit: rowsMax,
    });
    for (const { key, value } of range) {
      rows++;
      last = Buffer.from(key);
      if (isWanted(value)) wanted.push(last);
    }
    this.#after = rows < rowsMax ? null : last;
    return wanted;
  }
}
