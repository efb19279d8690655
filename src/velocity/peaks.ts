import type { Table } from './table.ts';
import { usualSlotOf, UsualRecords } from './usual.ts';

/**
 * The maximum of a number in each 10 minutes, and its usual value at this time of the day. `usual.ts` stores the earlier maxima. Two words
 * in a customer's record:
 *
 *   slot & 0xffff << 16 | maximum in the slot
 *   slot & 0xffff << 16 | usual value in sixteenths
 */
export interface PeakShape {
  /** Index of the maximum's word in the record. */
  readonly mostAt: number;
  /** Index of the usual value's word. */
  readonly usualAt: number;
  /** 0 or 1: separates two series of maxima with the same key. */
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

  /** Updates the maximum of the present slot. When a new slot begins, stores the maximum of the previous one (`usual.ts`). */
  note({ record, low, high }: PeakKey, count: number, nowMs: number): void {
    const { words } = this.#table;
    const { mostAt, kind } = this.#shape;
    const at = record + mostAt;
    const slot = usualSlotOf(nowMs);
    const word = words[at] ?? 0;
    const isSame = word >>> 16 === (slot & COUNT_MASK) && word !== 0;
    const most = Math.min(count, COUNT_MASK);
    if (isSame && (word & COUNT_MASK) >= most) return;
    const next = (((slot & COUNT_MASK) << 16) | most) >>> 0;
    // If another worker was faster, its number is just as correct, and it stores the previous slot's maximum.
    if (Atomics.compareExchange(words, at, word, next) !== word || isSame || word === 0) return;
    // The slot 65,536 earlier, 455 days ago, is indistinguishable from this one.
    const before = slot - ((slot - (word >>> 16)) & COUNT_MASK);
    this.#usual.put(low, high, kind, before, word & COUNT_MASK, Math.floor(nowMs / 1_000));
  }

  /** Returns the usual value, computed once a slot. Slots before `firstSeconds` count as unknown. */
  usualNow({ record, low, high }: PeakKey, firstSeconds: number, nowMs: number): number {
    const { words } = this.#table;
    const { usualAt, kind } = this.#shape;
    const at = record + usualAt;
    const slot = usualSlotOf(nowMs);
    const word = words[at] ?? 0;
    if (word !== 0 && word >>> 16 === (slot & COUNT_MASK)) return (word & COUNT_MASK) / SIXTEENTHS;
    const nowSeconds = Math.floor(nowMs / 1_000);
    const firstSlot = usualSlotOf((firstSeconds || nowSeconds) * 1_000);
    const usual = this.#usual.find(low, high, kind, slot, firstSlot, nowSeconds);
    const sixteenths = Math.min(COUNT_MASK, Math.round(usual * SIXTEENTHS));
    Atomics.compareExchange(words, at, word, (((slot & COUNT_MASK) << 16) | sixteenths) >>> 0);
    return sixteenths / SIXTEENTHS;
  }
}
