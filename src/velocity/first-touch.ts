import { mix, SALT_TOUCHES } from './keys.ts';
import { KIND_SKETCH } from './layout.ts';
import { CELLS_PER_RECORD, isTouched, touchCell } from './sketch.ts';
import type { Table } from './table.ts';

/**
 * Distinguishes a subject's second event in a window from its first, with a cell of 8 bits, so that most subjects, which come once, need no
 * record of their own. The cells belong to a customer, 124 to a record (`sketch.ts`).
 *
 * Two subjects that share a cell are taken for one: the first event of the second subject then counts as a second event, one too many. With
 * eight cells per subject this happens to one in ten. Fewer cells would cost less, but the records created by mistake would cost more.
 */
const CELLS_PER_SUBJECT = 8;
/** Choice: the rules must work at once for customers without history, in under 600 bytes each. */
const RECORDS_MIN = 4;
/** Choice: 1.1 MB for the largest customers; beyond 127,000 subjects a window, more subjects get a record at their first event. */
const RECORDS_MAX = 8_192;

/**
 * Returns the number of records for this many subjects in a window. It is a power of 2, so that it changes rarely: a change forgets all
 * earlier touches.
 */
export function touchRecordsFor(subjects: number): number {
  const records = (subjects * CELLS_PER_SUBJECT) / CELLS_PER_RECORD;
  return Math.min(RECORDS_MAX, Math.max(RECORDS_MIN, 2 ** Math.ceil(Math.log2(Math.max(1, records)))));
}

export class FirstTouches {
  readonly #table: Table;
  readonly #salt: number;
  readonly #windowMs: number;

  /** `salt` must be below 16. */
  constructor(table: Table, salt: number, windowMs: number) {
    this.#table = table;
    this.#salt = SALT_TOUCHES + salt;
    this.#windowMs = windowMs;
  }

  /** Marks the subject as touched. Returns whether it was touched in the window before. `low` and `high` are the customer's key. */
  touch(low: number, high: number, subject: number, records: number, nowMs: number): boolean {
    const cell = this.#cellOf(low, subject, records);
    const table = this.#table;
    const part = Math.floor(cell / CELLS_PER_RECORD);
    const salt = this.#salt + (part << 8);
    const record = table.take(mix(low, high, salt), mix(high, low, salt), KIND_SKETCH, Math.floor(nowMs / 1_000));
    if (record === 0) return false;
    return touchCell(table, record, cell % CELLS_PER_RECORD, this.#windowMs, nowMs, table.restSeconds);
  }

  /** Returns the same without marking. */
  has(low: number, high: number, subject: number, records: number, nowMs: number): boolean {
    const cell = this.#cellOf(low, subject, records);
    const table = this.#table;
    const part = Math.floor(cell / CELLS_PER_RECORD);
    const salt = this.#salt + (part << 8);
    const record = table.find(mix(low, high, salt), mix(high, low, salt), KIND_SKETCH, Math.floor(nowMs / 1_000));
    return record !== 0 && isTouched(table, record, cell % CELLS_PER_RECORD, this.#windowMs, nowMs, table.restSeconds);
  }

  #cellOf(low: number, subject: number, records: number): number {
    return (mix(subject, low, this.#salt) >>> 0) % (records * CELLS_PER_RECORD);
  }
}
