import type { Table } from './table.ts';
import { slotOf, UsualRecords } from './usual.ts';

/**
 * The largest number of something in each 10 minutes, and what it usually is at this time of the day. Two words in a customer's record:
 * slot & 0xffff << 16 | most at once in the slot; slot & 0xffff << 16 | sixteenths of what is usual. The past is in `usual.ts`.
 */
export interface PeakShape {
  /** Word of the largest number in the record. */
  readonly mostAt: number;
  /** Word of what is usual. */
  readonly usualAt: number;
  /** 0 or 1: tells the two pasts of one key apart. */
  readonly kind: number;
}

/** A customer's record, and the key of its past. */
export interface PeakKey {
  readonly record: number;
  readonly low: number;
  readonly high: number;
}

const SIXTEENTHS = 16;
const COUNT_MASK = 0xffff;

export class Peaks {
  readonly #table: Table;
  readonly #usual: UsualRecords;
  readonly #shape: PeakShape;

  constructor(table: Table, shape: PeakShape) {
    this.#table = table;
    this.#usual = new UsualRecords(table);
    this.#shape = shape;
  }

  /** Keeps the largest number of a slot, and writes that of the one before to the past. */
  note({ record, low, high }: PeakKey, count: number, nowMs: number): void {
    const { words } = this.#table;
    const { mostAt, kind } = this.#shape;
    const at = record + mostAt;
    const slot = slotOf(nowMs);
    const word = words[at] ?? 0;
    const isSame = word >>> 16 === (slot & COUNT_MASK) && word !== 0;
    const most = Math.min(count, COUNT_MASK);
    if (isSame && (word & COUNT_MASK) >= most) return;
    const next = (((slot & COUNT_MASK) << 16) | most) >>> 0;
    // Who was faster has as good a number, and writes the past.
    if (Atomics.compareExchange(words, at, word, next) !== word || isSame || word === 0) return;
    // A slot of 65,536 before looks like this one: in 455 days.
    const before = slot - ((slot - (word >>> 16)) & COUNT_MASK);
    this.#usual.put(low, high, kind, before, word & COUNT_MASK, Math.floor(nowMs / 1_000));
  }

  /** Computed once a slot. What lies before `firstSeconds` is not known. */
  usualNow({ record, low, high }: PeakKey, firstSeconds: number, nowMs: number): number {
    const { words } = this.#table;
    const { usualAt, kind } = this.#shape;
    const at = record + usualAt;
    const slot = slotOf(nowMs);
    const word = words[at] ?? 0;
    if (word !== 0 && word >>> 16 === (slot & COUNT_MASK)) return (word & COUNT_MASK) / SIXTEENTHS;
    const nowSeconds = Math.floor(nowMs / 1_000);
    const firstSlot = slotOf((firstSeconds || nowSeconds) * 1_000);
    const usual = this.#usual.find(low, high, kind, slot, firstSlot, nowSeconds);
    const sixteenths = Math.min(COUNT_MASK, Math.round(usual * SIXTEENTHS));
    Atomics.compareExchange(words, at, word, (((slot & COUNT_MASK) << 16) | sixteenths) >>> 0);
    return sixteenths / SIXTEENTHS;
  }
}
