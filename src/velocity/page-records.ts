import type { PagesHistory } from '../risk/crowds.ts';
import { addToBucket, BUCKETS, sumBuckets } from './buckets.ts';
import { mix, SALT_PAGES } from './keys.ts';
import { KIND_BUSY } from './layout.ts';
import type { Table } from './table.ts';

/**
 * Events of a session with many of them, in ninths of the window (`buckets.ts`).
 *
 *   0 hash   1-10 of 10 min   11-20 of 1 h   21-31 unused
 *
 * The session's own record counts the first 15 events; the next one creates this record. Those 15 count at the time of the first.
 */
const MINUTES_MS = 600_000;
const HOUR_MS = 3_600_000;
const AT_MINUTES = 1;
const AT_HOUR = AT_MINUTES + BUCKETS;

export class PageRecords {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /** Counts an event of a session that has had `before` events since `firstMs`. `low` and `high` are the session's key. */
  add(low: number, high: number, before: number, firstMs: number, nowMs: number): PagesHistory | null {
    const table = this.#table;
    const record = table.take(
      mix(low, high, SALT_PAGES),
      mix(high, low, SALT_PAGES),
      KIND_BUSY,
      Math.floor(nowMs / 1_000),
    );
    if (record === 0) return null;
    // If an evicted record is created again, the first events have usually expired and add nothing; otherwise they are few.
    if (table.isNew) for (let n = 0; n < before; n++) this.#add(record, firstMs, nowMs);
    this.#add(record, nowMs, nowMs);
    return {
      events10m: Math.round(sumBuckets(table, record + AT_MINUTES, MINUTES_MS, nowMs)),
      events1h: Math.round(sumBuckets(table, record + AT_HOUR, HOUR_MS, nowMs)),
    };
  }

  #add(record: number, eventMs: number, nowMs: number): void {
    const table = this.#table;
    if (nowMs - eventMs < MINUTES_MS) addToBucket(table, record + AT_MINUTES, MINUTES_MS, eventMs);
    if (nowMs - eventMs < HOUR_MS) addToBucket(table, record + AT_HOUR, HOUR_MS, eventMs);
  }
}
