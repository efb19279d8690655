import { mix, SALT_USUAL } from './keys.ts';
import { KIND_POPULATION } from './layout.ts';
import type { Table } from './table.ts';

/**
 * The maximum that `peaks.ts` records for each 10 minutes, of the last 8 days: for a customer, one record for each hour of the day.
 *
 *   0 hash   1-2 eight days, 8 bits each: day % 255 + 1, 0 for none   3-26 the days' six slots, 16 bits each   27-31 unused
 *
 * 24 records of 137 bytes, 3.3 KB; a customer with failed logins and declined payments has 48.
 */
const SLOT_MS = 600_000;
const SLOTS_PER_HOUR = 6;
const SLOTS_PER_DAY = 144;
const DAYS = 8;
const AT_DAYS = 1;
const AT_SLOTS = 3;
const WORDS_PER_DAY = 3;
const HOURS = 24;
/** Source: the default rules: the same time of day, one hour before and one after it, of the last 7 days. */
const DAYS_BACK = 7;
const SLOTS_ASIDE = 6;
/** Source: the default rules: the mean excludes the largest values, such as an attack of yesterday. */
const KEPT_SHARE = 0.95;

export function usualSlotOf(nowMs: number): number {
  return Math.floor(nowMs / SLOT_MS);
}

export class UsualRecords {
  readonly #table: Table;
  readonly #values = new Uint16Array(DAYS_BACK * (2 * SLOTS_ASIDE + 1));
  readonly #records = new Int32Array(HOURS);

  constructor(table: Table) {
    this.#table = table;
  }

  /**
   * Writes the number of a slot that is over. Marks all of the customer's records as seen, so that none of them is evicted before records
   * that have been unused for longer.
   */
  put(low: number, high: number, kind: number, slot: number, networks: number, nowSeconds: number): void {
    for (let hour = 0; hour < HOURS; hour++) this.#find(low, high, kind, hour, nowSeconds);
    const hour = Math.floor(slot / SLOTS_PER_HOUR) % HOURS;
    const record = this.#table.take(
      lowOf(low, high, kind, hour),
      lowOf(high, low, kind, hour),
      KIND_POPULATION,
      nowSeconds,
    );
    if (record === 0) return;
    const { words } = this.#table;
    const day = Math.floor(slot / SLOTS_PER_DAY);
    const at = record + AT_SLOTS + (day % DAYS) * WORDS_PER_DAY;
    if (this.#claimDay(record, day)) for (let i = at; i < at + WORDS_PER_DAY; i++) Atomics.store(words, i, 0);
    const n = slot % SLOTS_PER_HOUR;
    const shift = (n & 1) * 16;
    const word = words[at + (n >> 1)] ?? 0;
    const next = ((word & ~(0xffff << shift)) | (Math.min(networks, 0xffff) << shift)) >>> 0;
    // Slots end ten minutes apart, and one thread writes the end of each.
    Atomics.compareExchange(words, at + (n >> 1), word, next);
  }

  /**
   * Returns the larger of the median and of the mean without the largest twentieth. A slot that was not written counts as 0. Slots before
   * the customer's first event are unknown and excluded. Returns 0 where nothing is known.
   */
  find(low: number, high: number, kind: number, slot: number, firstSlot: number, nowSeconds: number): number {
    this.#records.fill(-1);
    let known = 0;
    for (let back = 1; back <= DAYS_BACK; back++) {
      for (let aside = -SLOTS_ASIDE; aside <= SLOTS_ASIDE; aside++) {
        const one = slot - back * SLOTS_PER_DAY + aside;
        if (one < firstSlot) continue;
        const hour = Math.floor(one / SLOTS_PER_HOUR) % HOURS;
        let record = this.#records[hour] ?? -1;
        if (record < 0) {
          record = this.#find(low, high, kind, hour, nowSeconds);
          this.#records[hour] = record;
        }
        this.#values[known++] = record === 0 ? 0 : this.#valueIn(record, one);
      }
    }
    if (known === 0) return 0;
    const values = this.#values.subarray(0, known).sort();
    const kept = Math.max(1, Math.floor(known * KEPT_SHARE));
    let sum = 0;
    for (let i = 0; i < kept; i++) sum += values[i] ?? 0;
    const middle = known >> 1;
    const median = known % 2 === 1 ? (values[middle] ?? 0) : ((values[middle - 1] ?? 0) + (values[middle] ?? 0)) / 2;
    return Math.max(sum / kept, median);
  }

  #find(low: number, high: number, kind: number, hour: number, nowSeconds: number): number {
    return this.#table.find(lowOf(low, high, kind, hour), lowOf(high, low, kind, hour), KIND_POPULATION, nowSeconds);
  }

  #valueIn(record: number, slot: number): number {
    const { words } = this.#table;
    const day = Math.floor(slot / SLOTS_PER_DAY);
    const place = day % DAYS;
    const mark = ((words[record + AT_DAYS + (place >> 2)] ?? 0) >>> ((place & 3) * 8)) & 0xff;
    if (mark !== markOf(day)) return 0;
    const n = slot % SLOTS_PER_HOUR;
    return ((words[record + AT_SLOTS + place * WORDS_PER_DAY + (n >> 1)] ?? 0) >>> ((n & 1) * 16)) & 0xffff;
  }

  /** Returns whether the day's words belonged to another day; marks them as this day's. */
  #claimDay(record: number, day: number): boolean {
    const { words } = this.#table;
    const place = day % DAYS;
    const at = record + AT_DAYS + (place >> 2);
    const shift = (place & 3) * 8;
    const word = words[at] ?? 0;
    if (((word >>> shift) & 0xff) === markOf(day)) return false;
    const next = ((word & ~(0xff << shift)) | (markOf(day) << shift)) >>> 0;
    return Atomics.compareExchange(words, at, word, next) === word;
  }
}

function markOf(day: number): number {
  return (day % 255) + 1;
}

/** Returns one half of a record's key; with `a` and `b` swapped, the other half. */
function lowOf(a: number, b: number, kind: number, hour: number): number {
  return mix(a, b, SALT_USUAL + 2 * hour + kind);
}
