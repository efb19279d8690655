import type { Table } from './table.ts';

/**
 * Sums of numbers by their time, in words 2 to 31 of a record: 15 cells of 64 bits, epoch << 48 | sum in thousandths (signed, 48 bits).
 * A cell stands for a fourteenth of the window; only part of the oldest one is inside, and it is weighted by that part.
 *
 * Error: at most the sum in that fourteenth; values are rounded to thousandths. The sum of a cell stops at 140,000,000,000.
 */
const CELLS = 15;
const AT_CELLS = 2;
const PARTS = 1_000;
const SUM_BITS = 48;
const SUM_BITS_LONG = 48n;
const EPOCH_MASK = 0xffff;
const SUM_MAX = 2 ** (SUM_BITS - 1) - 1;
const TRIES_MAX = 64;

export class SumCells {
  readonly #table: Table;
  readonly #cells: BigUint64Array;
  readonly #widthMs: number;

  constructor(table: Table, windowMs: number) {
    const { words } = table;
    this.#table = table;
    this.#cells = new BigUint64Array(words.buffer, words.byteOffset, words.length >> 1);
    this.#widthMs = windowMs / (CELLS - 1);
  }

  /** Adds a finite number. */
  add(record: number, value: number, atMs: number): void {
    const cells = this.#cells;
    const epoch = Math.floor(atMs / this.#widthMs);
    const at = ((record + AT_CELLS) >> 1) + (epoch % CELLS);
    const parts = Math.round(Math.max(-SUM_MAX, Math.min(SUM_MAX, value * PARTS)));
    const head = BigInt(epoch & EPOCH_MASK) << SUM_BITS_LONG;
    for (let n = 0; n < TRIES_MAX; n++) {
      const cell = cells[at] ?? 0n;
      const before = Number(cell >> SUM_BITS_LONG) === (epoch & EPOCH_MASK) ? sumOf(cell) : 0;
      const sum = Math.max(-SUM_MAX, Math.min(SUM_MAX, before + parts));
      const next = head | BigInt.asUintN(SUM_BITS, BigInt(sum));
      if (Atomics.compareExchange(cells, at, cell, next) === cell) return;
    }
    this.#table.lose();
  }

  /** Returns the sum in the window, to a thousandth. */
  sum(record: number, nowMs: number): number {
    const cells = this.#cells;
    const epoch = Math.floor(nowMs / this.#widthMs);
    const partOfOldest = 1 - (nowMs - epoch * this.#widthMs) / this.#widthMs;
    const first = (record + AT_CELLS) >> 1;
    let sum = 0;
    for (let at = first; at < first + CELLS; at++) {
      const cell = cells[at] ?? 0n;
      if (cell === 0n) continue;
      const age = (epoch - Number(cell >> SUM_BITS_LONG)) & EPOCH_MASK;
      if (age < CELLS) sum += sumOf(cell) * (age === CELLS - 1 ? partOfOldest : 1);
    }
    return Math.round(sum) / PARTS;
  }
}

function sumOf(cell: bigint): number {
  return Number(BigInt.asIntN(SUM_BITS, cell));
}
