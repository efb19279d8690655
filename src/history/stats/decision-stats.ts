import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type { HistoryStats } from '../../ports/decision-history.ts';
import { STATS_CUSTOMERS_MAX, STATS_HOURS_KEPT, STATS_MINUTES_KEPT } from '../../kernel/limits.ts';
import { lackOfRoom } from '../../state/disk-room.ts';
import { Slices, Turns } from '../../state/turns.ts';
import { u32Key, withoutSum, withSum } from '../../state/value.ts';
import { decodeCounts, encodeCounts, PeriodCounts } from './period-counts.ts';

const MINUTE_MS = 60_000;
const MINUTES = 60;
const HOUR_MS = MINUTES * MINUTE_MS;
/** Kind of row. */
const MINUTE_ROW = 0;
const HOUR_ROW = 1;
/** Choice: how much of the statistics a killed process may lose. */
const SAVE_MS = 5_000;

/** The counts of one customer in the present minute. */
interface Live {
  readonly counts: PeriodCounts;
  /** They have changed since they were written. */
  isDirty: boolean;
  /** They include what an earlier process wrote for this minute. */
  isMerged: boolean;
}

export interface StatsPoint {
  /** Start of the period, Unix seconds. */
  readonly at: number;
  readonly counts: PeriodCounts;
}

/**
 * Counts of each customer's decisions and refusals, by minute for a day and by hour for 30 days. The present minute is in memory; rows are
 * written in the background, and an hour's row is the sum of its minutes once it is over.
 *
 *   key    customer u32 | 0 minute, 1 hour, u8 | its number since 1970, u32
 *   value  `encodeCounts`
 *
 * Bounds: `STATS_CUSTOMERS_MAX` customers a minute in memory, at most some 2 KB each; 1,440 + 720 rows for each customer, some 200 bytes
 * each: 0.4 MB for 1 customer that is always active, 43 MB for 100, 430 MB for 1,000. Failure direction: open.
 */
export class DecisionStats implements HistoryStats<Slices> {
  readonly #table: Database<Buffer, Buffer>;
  readonly #turns: Turns;
  #minute = 0;
  #live = new Map<CustomerNumber, Live>();
  /** Minutes that are over and have not been written yet. */
  readonly #ended: { readonly minute: number; readonly live: Map<CustomerNumber, Live> }[] = [];
  #savedAtMs = 0;
  #summedHour = 0;
  #running: Promise<void> | null = null;

  constructor(table: Database<Buffer, Buffer>, turns = new Turns()) {
    this.#table = table;
    this.#turns = turns;
  }

  /** Returns the counts to add to; null if too many customers are active. Called on the hot path. */
  countsOf(customer: CustomerNumber, nowMs: number): PeriodCounts | null {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute !== this.#minute) this.#turnTo(minute);
    let live = this.#live.get(customer);
    if (live === undefined) {
      if (this.#live.size >= STATS_CUSTOMERS_MAX) return null;
      live = { counts: new PeriodCounts(), isDirty: true, isMerged: false };
      this.#live.set(customer, live);
    }
    live.isDirty = true;
    return live.counts;
  }

  /** Writes what is due, in slices; call several times a second. Never rejects. */
  tend(nowMs: number): Promise<void> {
    this.#running ??= this.#tend(nowMs)
      .catch(() => {})
      .finally(() => {
        this.#running = null;
      });
    return this.#running;
  }

  /** Writes everything. */
  async close(): Promise<void> {
    await this.#running;
    this.#turnTo(this.#minute);
    await this.#writeEnded(new Slices(this.#turns)).catch(() => {});
  }

  /** Returns the periods of `stepSeconds` from `fromSeconds` on and before `toSeconds` in which something happened, oldest first. */
  async read(
    customer: CustomerNumber,
    fromSeconds: number,
    toSeconds: number,
    stepSeconds: number,
    slices: Slices,
  ): Promise<readonly StatsPoint[]> {
    const points = new Map<number, PeriodCounts>();
    const startOf = (atSeconds: number): number => atSeconds - (atSeconds % stepSeconds);
    /** Returns false for bytes that are no counts. */
    const put = (atSeconds: number, stored: Uint8Array): boolean => {
      const known = points.get(startOf(atSeconds));
      if (known !== undefined) return known.mergeEncoded(stored);
      const counts = decodeCounts(stored);
      if (counts !== null) points.set(startOf(atSeconds), counts);
      return counts !== null;
    };
    const hourFrom = Math.floor(fromSeconds / 3_600);
    const hourEnd = Math.ceil(toSeconds / 3_600);
    const summed = new Set<number>();
    if (stepSeconds >= 3_600) {
      await this.#visit(customer, HOUR_ROW, hourFrom, hourEnd, slices, isAny, (hour, stored) => {
        if (put(hour * 3_600, stored)) summed.add(hour);
      });
    }
    const live = this.#minutesOf(customer);
    const isUnsummed = (minute: number): boolean => !summed.has(Math.floor(minute / MINUTES));
    let minuteFrom = stepSeconds >= 3_600 ? hourFrom * MINUTES : Math.floor(fromSeconds / 60);
    const minuteEnd = stepSeconds >= 3_600 ? hourEnd * MINUTES : Math.ceil(toSeconds / 60);
    while (minuteFrom < minuteEnd && !isUnsummed(minuteFrom)) minuteFrom += MINUTES - (minuteFrom % MINUTES);
    await this.#visit(customer, MINUTE_ROW, minuteFrom, minuteEnd, slices, isUnsummed, (minute, stored) => {
      if (live.get(minute)?.isMerged !== true) put(minute * 60, stored);
    });
    for (const [minute, { counts }] of live) {
      if (minute < minuteFrom || minute >= minuteEnd || !isUnsummed(minute)) continue;
      const at = startOf(minute * 60);
      const point = points.get(at) ?? new PeriodCounts();
      point.merge(counts);
      points.set(at, point);
    }
    return [...points].sort(([a], [b]) => a - b).map(([at, counts]) => ({ at, counts }));
  }

  #minutesOf(customer: CustomerNumber): ReadonlyMap<number, Live> {
    const found = new Map<number, Live>();
    for (const { minute, live } of [...this.#ended, { minute: this.#minute, live: this.#live }]) {
      const own = live.get(customer);
      if (own !== undefined) found.set(minute, own);
    }
    return found;
  }

  #turnTo(minute: number): void {
    if (this.#live.size > 0) this.#ended.push({ minute: this.#minute, live: this.#live });
    this.#live = new Map();
    this.#minute = minute;
  }

  async #tend(nowMs: number): Promise<void> {
    const slices = new Slices(this.#turns);
    const hour = Math.floor(nowMs / HOUR_MS);
    const isSaveDue = Math.abs(nowMs - this.#savedAtMs) >= SAVE_MS;
    if (this.#ended.length === 0 && !isSaveDue && hour === this.#summedHour) return;
    await slices.begin();
    await this.#writeEnded(slices);
    if (isSaveDue) {
      this.#savedAtMs = nowMs;
      await this.#write(this.#minute, this.#live, slices);
    }
    if (hour !== this.#summedHour) {
      await this.#sumHours(hour, slices);
      this.#summedHour = hour;
    }
  }

  async #writeEnded(slices: Slices): Promise<void> {
    for (let [oldest] = this.#ended; oldest !== undefined; [oldest] = this.#ended) {
      await this.#write(oldest.minute, oldest.live, slices);
      this.#ended.shift();
    }
  }

  async #write(minute: number, all: ReadonlyMap<CustomerNumber, Live>, slices: Slices): Promise<void> {
    if (lackOfRoom(this.#table) !== null) return;
    const writes: Promise<unknown>[] = [];
    for (const [customer, live] of all) {
      if (!live.isDirty) continue;
      const key = rowKey(customer, MINUTE_ROW, minute);
      if (!live.isMerged) {
        const stored = this.#read(key);
        if (stored !== null) live.counts.merge(stored);
        live.isMerged = true;
      }
      live.isDirty = false;
      writes.push(this.#put(key, live.counts));
      if (slices.isOver) await slices.begin();
    }
    await Promise.all(writes);
  }

  /** Sums the minutes of each hour of the last day that is over and has no row, and removes expired rows. */
  async #sumHours(hour: number, slices: Slices): Promise<void> {
    for (let customer = this.#customerFrom(0); customer !== null; customer = this.#customerFrom(customer + 1)) {
      for (let past = hour - 24; past < hour; past++) {
        const key = rowKey(customer, HOUR_ROW, past);
        if (this.#table.doesExist(key)) continue;
        const sum = new PeriodCounts();
        let minutes = 0;
        await this.#visit(
          customer,
          MINUTE_ROW,
          past * MINUTES,
          (past + 1) * MINUTES,
          slices,
          isAny,
          (_minute, stored) => {
            if (sum.mergeEncoded(stored)) minutes++;
          },
        );
        if (minutes > 0) await this.#put(key, sum);
      }
      await this.#removeBefore(customer, MINUTE_ROW, hour * MINUTES - STATS_MINUTES_KEPT);
      await this.#removeBefore(customer, HOUR_ROW, hour - STATS_HOURS_KEPT);
      if (slices.isOver) await slices.begin();
    }
  }

  /** Returns the first customer with a row from this number on. */
  #customerFrom(number: number): CustomerNumber | null {
    if (number > 0xffff_ffff) return null;
    const [key] = this.#table.getKeys({ start: u32Key(number), limit: 1 });
    return key === undefined ? null : (Buffer.from(key).readUInt32BE(0) as CustomerNumber);
  }

  async #removeBefore(customer: CustomerNumber, kind: number, period: number): Promise<void> {
    const end = rowKey(customer, kind, Math.max(0, period));
    const keys = [...this.#table.getKeys({ start: rowKey(customer, kind, 0), end, limit: STATS_MINUTES_KEPT })];
    await Promise.all(keys.map((key) => this.#table.remove(Buffer.from(key)).catch(() => {})));
  }

  async #visit(
    customer: CustomerNumber,
    kind: number,
    from: number,
    end: number,
    slices: Slices,
    isWanted: (period: number) => boolean,
    visit: (period: number, stored: Uint8Array) => void,
  ): Promise<void> {
    const range = { start: rowKey(customer, kind, from), end: rowKey(customer, kind, end) };
    const keys: Buffer[] = [];
    for (const key of this.#table.getKeys(range)) {
      if (isWanted(periodOf(key))) keys.push(Buffer.from(key));
    }
    for (const key of keys) {
      const stored = this.#table.getBinaryFast(key);
      if (stored !== undefined) visit(periodOf(key), withoutSum(stored));
      if (slices.isOver) await slices.begin();
    }
  }

  #read(key: Buffer): PeriodCounts | null {
    const stored = this.#table.getBinary(key);
    return stored === undefined ? null : decodeCounts(withoutSum(stored));
  }

  /** Never rejects: the next write of this minute tries again, and an hour is summed again at the next start. */
  #put(key: Buffer, counts: PeriodCounts): Promise<unknown> {
    return this.#table.put(key, withSum(key, encodeCounts(counts))).catch(() => {});
  }
}

function isAny(): boolean {
  return true;
}

function periodOf(key: Uint8Array): number {
  return (((key[5] ?? 0) << 24) | ((key[6] ?? 0) << 16) | ((key[7] ?? 0) << 8) | (key[8] ?? 0)) >>> 0;
}

function rowKey(customer: CustomerNumber, kind: number, period: number): Buffer {
  const key = Buffer.allocUnsafe(9);
  key.writeUInt32BE(customer, 0);
  key[4] = kind;
  key.writeUInt32BE(period, 5);
  return key;
}
