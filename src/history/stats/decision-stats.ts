import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type { HistoryStats } from '../../ports/decision-history.ts';
import { STATS_CUSTOMERS_MAX, STATS_HOURS_KEPT, STATS_MINUTES_KEPT } from '../../kernel/history-limits.ts';
import { lackOfRoom } from '../../state/tables/disk-room.ts';
import { Slices, Turns, walkInSlices } from '../../state/tables/turns.ts';
import { u32Key, withoutSum, withSum } from '../../state/tables/value.ts';
import type { DecisionLog } from '../decision-log.ts';
import { CountsReader } from './counts-reader.ts';
import { decodeCounts, encodeCounts, encodeSorted, PeriodCounts } from './period-counts.ts';
import { recounted, type RecountRange, recountMinutes } from './recount.ts';

const MINUTE_MS = 60_000;
const MINUTES = 60;
const HOUR_MS = MINUTES * MINUTE_MS;
const HOUR_SECONDS = 3_600;
/** Kind of row. */
const MINUTE_ROW = 0;
const HOUR_ROW = 1;
/** Choice: how often they are written; a killed process loses the refusals and latencies since. */
const SAVE_MS = 5_000;

/** The log that the statistics are compared with. */
export type RecountSource = Pick<DecisionLog, 'customers' | 'scan'>;

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
  /** What is to be recounted before anything is written. */
  #behind: { readonly log: RecountSource; readonly customers: CustomerNumber[]; readonly range: RecountRange } | null =
    null;
  #running: Promise<void> | null = null;

  constructor(table: Database<Buffer, Buffer>, turns = new Turns()) {
    this.#table = table;
    this.#turns = turns;
  }

  /**
   * Has the decisions before `nowMs` compared with the log in the background, and minutes that have fewer than it counted again: a killed
   * process did not write its last ones. Only whole hours of the last day: of earlier ones the log has no ALLOW. Call before
   * the first decision.
   */
  recountFrom(log: RecountSource, nowMs: number): void {
    const sinceMs = (Math.floor(nowMs / HOUR_MS) - 23) * HOUR_MS;
    this.#behind = { log, customers: [...log.customers], range: { sinceMs, untilMs: nowMs } };
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
    // What was not compared is at the next start.
    this.#behind = null;
    await this.#running;
    this.#turnTo(this.#minute);
    await this.#writeEnded(new Slices(this.#turns)).catch(() => {});
  }

  /**
   * Visits the periods of `stepSeconds` from `fromSeconds` on and before `toSeconds` in which something happened, oldest first. A point is
   * made when it is visited, so a long range needs no more memory than a short one.
   */
  async read(
    customer: CustomerNumber,
    fromSeconds: number,
    toSeconds: number,
    stepSeconds: number,
    slices: Slices,
    visit: (point: StatsPoint) => void,
  ): Promise<void> {
    const reader = new CountsReader();
    const points = new PointBuilder(stepSeconds, visit);
    const isByHour = stepSeconds >= HOUR_SECONDS;
    const hourEnd = Math.ceil(toSeconds / HOUR_SECONDS);
    const minuteEnd = isByHour ? hourEnd * MINUTES : Math.ceil(toSeconds / 60);
    let minute = isByHour ? Math.floor(fromSeconds / HOUR_SECONDS) * MINUTES : Math.floor(fromSeconds / 60);
    if (isByHour) {
      // Before the first minute that is kept, hours are all there is.
      const firstHour = Math.min(hourEnd, Math.floor(this.#firstMinute(customer, minute, minuteEnd) / MINUTES));
      await this.#visit(customer, HOUR_ROW, minute / MINUTES, firstHour, slices, (hour, stored) => {
        points.addStored(hour * HOUR_SECONDS, stored, reader);
      });
      minute = Math.max(minute, firstHour * MINUTES);
    }
    while (minute < minuteEnd) {
      const end = isByHour ? minute + MINUTES : minuteEnd;
      const summed = isByHour ? this.#table.getBinary(rowKey(customer, HOUR_ROW, minute / MINUTES)) : undefined;
      const isSummed = summed !== undefined && points.addStored(minute * 60, withoutSum(summed), reader);
      if (!isSummed) await this.#readMinutes(customer, minute, end, slices, points, reader);
      minute = end;
      if (slices.isOver) await slices.begin();
    }
    points.end();
  }

  /** Adds the minutes of a range, stored and in memory. */
  async #readMinutes(
    customer: CustomerNumber,
    from: number,
    end: number,
    slices: Slices,
    points: PointBuilder,
    reader: CountsReader,
  ): Promise<void> {
    const live = this.#minutesOf(customer).filter(({ minute }) => minute >= from && minute < end);
    const addLiveBefore = (before: number): void => {
      for (let [first] = live; first !== undefined && first.minute < before; [first] = live) {
        points.add(first.minute * 60, first.own.counts);
        live.shift();
      }
    };
    await this.#visit(customer, MINUTE_ROW, from, end, slices, (minute, stored) => {
      addLiveBefore(minute);
      const [first] = live;
      if (first?.minute !== minute || !first.own.isMerged) points.addStored(minute * 60, stored, reader);
      // In the same turn of the event loop: a later write may add the stored counts to those in memory.
      addLiveBefore(minute + 1);
    });
    addLiveBefore(end);
  }

  /** Returns the first minute of a range with counts, stored or in memory; Infinity without one. */
  #firstMinute(customer: CustomerNumber, from: number, end: number): number {
    const range = { start: rowKey(customer, MINUTE_ROW, from), end: rowKey(customer, MINUTE_ROW, end), limit: 1 };
    const [key] = this.#table.getKeys(range);
    const live = this.#minutesOf(customer).flatMap(({ minute }) => (minute >= from && minute < end ? [minute] : []));
    return Math.min(key === undefined ? Number.POSITIVE_INFINITY : periodOf(key), ...live);
  }

  /** Returns the minutes that are in memory, oldest first. */
  #minutesOf(customer: CustomerNumber): { readonly minute: number; readonly own: Live }[] {
    const found: { minute: number; own: Live }[] = [];
    for (const { minute, live } of [...this.#ended, { minute: this.#minute, live: this.#live }]) {
      const own = live.get(customer);
      if (own !== undefined) found.push({ minute, own });
    }
    return found.sort((a, b) => a.minute - b.minute);
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
    await this.#catchUp(slices);
    if (this.#behind !== null) return;
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

  /** Until it is done the stored rows have no decision since the start, which the log has too. */
  async #catchUp(slices: Slices): Promise<void> {
    const behind = this.#behind;
    if (behind === null) return;
    const isStopped = (): boolean => this.#behind !== behind;
    for (let [customer] = behind.customers; customer !== undefined; [customer] = behind.customers) {
      const minutes = await recountMinutes(behind.log, customer, behind.range, isStopped);
      if (minutes === null || isStopped()) return;
      if (lackOfRoom(this.#table) === null) await this.#correct(customer, minutes, slices);
      behind.customers.shift();
    }
    this.#behind = null;
  }

  async #correct(customer: CustomerNumber, minutes: ReadonlyMap<number, PeriodCounts>, slices: Slices): Promise<void> {
    await slices.begin();
    const writes: Promise<unknown>[] = [];
    for (const [minute, counts] of minutes) {
      const key = rowKey(customer, MINUTE_ROW, minute);
      const corrected = recounted(counts, this.#read(key));
      if (corrected === null) continue;
      writes.push(this.#put(key, encodeCounts(corrected)));
      // Summed again by `#sumHours`.
      const hour = rowKey(customer, HOUR_ROW, Math.floor(minute / MINUTES));
      writes.push(this.#table.remove(hour).catch(() => {}));
      if (slices.isOver) await slices.begin();
    }
    await Promise.all(writes);
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
      writes.push(this.#put(key, encodeCounts(live.counts)));
      if (slices.isOver) await slices.begin();
    }
    await Promise.all(writes);
  }

  /** Sums the minutes of each hour of the last day that is over and has no row, and removes expired rows. */
  async #sumHours(hour: number, slices: Slices): Promise<void> {
    const reader = new CountsReader();
    for (let customer = this.#customerFrom(0); customer !== null; customer = this.#customerFrom(customer + 1)) {
      for (let past = hour - 24; past < hour; past++) {
        const key = rowKey(customer, HOUR_ROW, past);
        if (this.#table.doesExist(key)) continue;
        const sum = new PeriodCounts();
        let minutes = 0;
        await this.#visit(customer, MINUTE_ROW, past * MINUTES, (past + 1) * MINUTES, slices, (_minute, stored) => {
          if (!reader.read(stored)) return;
          sum.mergeRead(reader);
          minutes++;
        });
        if (minutes > 0) await this.#put(key, encodeSorted(sum));
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

  #visit(
    customer: CustomerNumber,
    kind: number,
    from: number,
    end: number,
    slices: Slices,
    visit: (period: number, stored: Uint8Array) => void,
  ): Promise<void> {
    const range = { start: rowKey(customer, kind, from), end: rowKey(customer, kind, end) };
    return walkInSlices(this.#table, range, slices, (key, stored) => {
      visit(periodOf(key), withoutSum(stored));
      return 'on';
    });
  }

  #read(key: Buffer): PeriodCounts | null {
    const stored = this.#table.getBinary(key);
    return stored === undefined ? null : decodeCounts(withoutSum(stored));
  }

  /** Never rejects: the next write of this minute tries again, and an hour is summed again at the next start. */
  #put(key: Buffer, encoded: Buffer): Promise<unknown> {
    return this.#table.put(key, withSum(key, encoded)).catch(() => {});
  }
}

/** Sums counts, which come in the order of time, into points. */
class PointBuilder {
  readonly #stepSeconds: number;
  readonly #visit: (point: StatsPoint) => void;
  #at = 0;
  #counts: PeriodCounts | null = null;

  constructor(stepSeconds: number, visit: (point: StatsPoint) => void) {
    this.#stepSeconds = stepSeconds;
    this.#visit = visit;
  }

  add(atSeconds: number, counts: PeriodCounts): void {
    this.#of(atSeconds).merge(counts);
  }

  /** Returns false for bytes that are no counts. */
  addStored(atSeconds: number, stored: Uint8Array, reader: CountsReader): boolean {
    return reader.read(stored) && (this.#of(atSeconds).mergeRead(reader), true);
  }

  end(): void {
    if (this.#counts !== null) this.#visit({ at: this.#at, counts: this.#counts });
    this.#counts = null;
  }

  #of(atSeconds: number): PeriodCounts {
    const at = atSeconds - (atSeconds % this.#stepSeconds);
    if (at !== this.#at) this.end();
    this.#at = at;
    return (this.#counts ??= new PeriodCounts());
  }
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
