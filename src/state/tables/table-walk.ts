import type { Database } from 'lmdb';

/** Iterates over a table some rows at a time, each call after the previous one, starting over at the end. */
export class TableWalk {
  readonly #table: Database<Buffer, Buffer>;
  /** The last key that was visited; null at the beginning. */
  #after: Buffer | null = null;

  constructor(table: Database<Buffer, Buffer>) {
    this.#table = table;
  }

  /** Returns the keys of the wanted rows among the next `rowsMax`. `value` is valid until `isWanted` returns. */
  next(rowsMax: number, isWanted: (value: Buffer, key: Buffer) => boolean): Buffer[] {
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
      if (isWanted(value, last)) wanted.push(last);
    }
    this.#after = rows < rowsMax ? null : last;
    return wanted;
  }
}
