import { mix, SALT_DAYS } from './keys.ts';
import { KIND_POPULATION } from './layout.ts';
import type { Table } from './table.ts';

/**
 * Shares of a customer's logins that are by unknown identities and that are cold starts, day by day (UTC), in one record.
 *
 *   0 hash   1-24 eight days, three words each: day % 255 + 1 << 24 | unknown identities; cold; all
 *   25 usual shares, computed once a day: day % 255 + 1 << 20 | unknown identities in 1,023rds << 10 | cold in 1,023rds   26-31 unused
 *
 * The usual share is the median of the previous days, so an attack of one day does not make itself usual. It is 1 while there is no
 * previous day, so rules that compare with it are silent on the first day.
 */
const AT_DAYS = 1;
const AT_USUAL = 25;
const DAYS = 8;
const DAY_WORDS = 3;
const DAY_MS = 86_400_000;
const MARK_SHIFT = 24;
const COUNT_MASK = 0xffffff;
const PARTS = 1_023;
/** Choice: the busiest hour of a day has up to a tenth of its logins. */
const PEAK_HOUR_SHARE = 0.1;

export class LoginShares {
  /** Set by the last `count`: shares of a usual day, 0 to 1; 1 where nothing is known. */
  strangers = 1;
  cold = 1;
  /** Set by the last `count`: logins of the previous day, or of today so far if these are more. */
  loginsOfDay = 0;
  /** Set by the last `count`: about as many as come in the busiest hour of such a day. */
  loginsOfHour = 0;
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /** Counts a login and sets the usual shares. `low` and `high` are the customer's key. */
  count(low: number, high: number, isStranger: boolean, isCold: boolean, nowMs: number): void {
    const nowSeconds = Math.floor(nowMs / 1_000);
    const record = this.#table.take(mix(low, high, SALT_DAYS), mix(high, low, SALT_DAYS), KIND_POPULATION, nowSeconds);
    this.strangers = 1;
    this.cold = 1;
    this.loginsOfDay = 0;
    this.loginsOfHour = 0;
    if (record === 0) return;
    this.#add(record, isStranger, isCold, nowMs);
    this.#read(record, nowMs);
  }

  #add(record: number, isStranger: boolean, isCold: boolean, nowMs: number): void {
    const { words } = this.#table;
    const day = Math.floor(nowMs / DAY_MS);
    const at = record + AT_DAYS + (day % DAYS) * DAY_WORDS;
    const word = words[at] ?? 0;
    if (
      word >>> MARK_SHIFT !== markOf(day) &&
      Atomics.compareExchange(words, at, word, (markOf(day) << MARK_SHIFT) >>> 0) === word
    ) {
      Atomics.store(words, at + 1, 0);
      Atomics.store(words, at + 2, 0);
    }
    if (isStranger && ((words[at] ?? 0) & COUNT_MASK) < COUNT_MASK) Atomics.add(words, at, 1);
    if (isCold) Atomics.add(words, at + 1, 1);
    Atomics.add(words, at + 2, 1);
  }

  #read(record: number, nowMs: number): void {
    const { words } = this.#table;
    const day = Math.floor(nowMs / DAY_MS);
    const before = this.#dayAt(record, day - 1);
    const today = this.#dayAt(record, day);
    const loginsOf = (at: number): number => (at === 0 ? 0 : (words[at + 2] ?? 0));
    this.loginsOfDay = Math.max(loginsOf(before), loginsOf(today));
    // All logins of a first day may have come within one hour.
    this.loginsOfHour = this.loginsOfDay * (before === 0 ? 1 : PEAK_HOUR_SHARE);
    let word = words[record + AT_USUAL] ?? 0;
    if (word >>> 20 !== markOf(day)) {
      const parts = (at: number): number => Math.round(this.#median(record, day, at) * PARTS);
      const next = ((markOf(day) << 20) | (parts(0) << 10) | parts(1)) >>> 0;
      Atomics.compareExchange(words, record + AT_USUAL, word, next);
      word = next;
    }
    this.strangers = ((word >>> 10) & PARTS) / PARTS;
    this.cold = (word & PARTS) / PARTS;
  }

  /** Returns the median share of unknown identities (`part` 0) or of cold-start logins (1). */
  #median(record: number, day: number, part: number): number {
    const { words } = this.#table;
    const shares: number[] = [];
    for (let back = 1; back < DAYS; back++) {
      const at = this.#dayAt(record, day - back);
      const all = at === 0 ? 0 : (words[at + 2] ?? 0);
      if (all > 0) shares.push(Math.min(1, ((words[at + part] ?? 0) & COUNT_MASK) / all));
    }
    if (shares.length === 0) return 1;
    shares.sort((a, b) => a - b);
    // Uses the larger of the two middle values, which makes the rules less sensitive.
    return shares[shares.length >> 1] ?? 1;
  }

  /** Returns 0 if nothing was counted on that day. */
  #dayAt(record: number, day: number): number {
    const at = record + AT_DAYS + (day % DAYS) * DAY_WORDS;
    return (this.#table.words[at] ?? 0) >>> MARK_SHIFT === markOf(day) ? at : 0;
  }
}

function markOf(day: number): number {
  return (day % 255) + 1;
}
