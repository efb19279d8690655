import type { SurgeHistory } from '../risk/history.ts';
import { mix, SALT_FAILING_NETWORKS } from './keys.ts';
import { KIND_HOUR_SET, KIND_POPULATION } from './layout.ts';
import type { OutcomeChange } from './outcome-record.ts';
import { OutcomeTally } from './outcome-tally.ts';
import { Peaks } from './peaks.ts';
import { SetRecords } from './set-record.ts';
import type { Table } from './table.ts';
import { setMemberOf, TEN_MINUTE_SET } from './timed-set.ts';

/**
 * All outcomes of a customer, from its first one on; public and secret keys are counted separately.
 *
 *   0 hash   1 first outcome, Unix seconds   2-12 logins, in tenths of 10 min   13-23 payments, in tenths of 10 min
 *   24-25 maximum of networks with a failed login, and with a declined payment   26-27 what these usually are (`peaks.ts`)
 *   28-31 unused
 *
 * The networks themselves are in one set each (`set-record.ts`: up to three records), the past is in `usual.ts`: under 4 KB for failed
 * logins, and the same again for declined payments. Distinct networks are exact up to 30, and saturate at about 1,370.
 *
 * A network is counted when its outcome is reported, if the event is not older than the window. It stays until the window is over, even if
 * the outcome is corrected.
 */
const AT_FIRST = 1;
const AT_LOGINS = 2;
const AT_PAYMENTS = 13;
const AT_MOST = 24;
const AT_USUAL = 26;
const WINDOW_MS = 600_000;
const PARTS = 10;
const KIND_LOGINS = 0;
const KIND_PAYMENTS = 1;

export interface PopulationRecordKey {
  readonly populationLow: number;
  readonly populationHigh: number;
}

export class PopulationRecords {
  readonly #table: Table;
  readonly #rowCounters: readonly [OutcomeTally, OutcomeTally];
  readonly #networks: SetRecords;
  readonly #peaks: readonly [Peaks, Peaks];

  constructor(table: Table) {
    this.#table = table;
    this.#rowCounters = [
      new OutcomeTally(table, { at: AT_LOGINS, parts: PARTS, windowMs: WINDOW_MS }),
      new OutcomeTally(table, { at: AT_PAYMENTS, parts: PARTS, windowMs: WINDOW_MS }),
    ];
    this.#networks = new SetRecords(table, KIND_HOUR_SET, TEN_MINUTE_SET);
    const peaks = (kind: number): Peaks => new Peaks(table, { mostAt: AT_MOST + kind, usualAt: AT_USUAL + kind, kind });
    this.#peaks = [peaks(KIND_LOGINS), peaks(KIND_PAYMENTS)];
  }

  /** Returns null if nothing of the kind failed within 10 min. */
  observe(
    { populationLow: low, populationHigh: high }: PopulationRecordKey,
    isLogin: boolean,
    nowMs: number,
  ): SurgeHistory | null {
    const table = this.#table;
    const nowSeconds = Math.floor(nowMs / 1_000);
    const record = table.find(low, high, KIND_POPULATION, nowSeconds);
    if (record === 0) return null;
    const kind = isLogin ? KIND_LOGINS : KIND_PAYMENTS;
    this.#readAll(record, nowMs, table.restSeconds);
    const { bad, badShare: badShare10m } = this.#rowCounters[kind];
    if (bad === 0) return null;
    const salt = SALT_FAILING_NETWORKS + kind;
    const networks10m = this.#networks.count(mix(low, high, salt), mix(high, low, salt), nowMs);
    const usual = this.#peaks[kind].usualNow({ record, low, high }, table.words[record + AT_FIRST] ?? 0, nowMs);
    return { networks10m, usual, badShare10m };
  }

  /** `site` is the event's network, 0 without one. */
  change({ populationLow: low, populationHigh: high }: PopulationRecordKey, site: number, change: OutcomeChange): void {
    const table = this.#table;
    const { isLogin, isBad, by, eventMs, nowMs } = change;
    const nowSeconds = Math.floor(nowMs / 1_000);
    const record = table.take(low, high, KIND_POPULATION, nowSeconds);
    if (record === 0) return;
    Atomics.compareExchange(table.words, record + AT_FIRST, 0, nowSeconds);
    this.#readAll(record, nowMs, table.restSeconds);
    const kind = isLogin ? KIND_LOGINS : KIND_PAYMENTS;
    this.#rowCounters[kind].change(record, eventMs, nowMs, isBad, by);
    if (!isBad || by === -1 || site === 0 || nowMs - eventMs > WINDOW_MS) return;
    const salt = SALT_FAILING_NETWORKS + kind;
    const networks = this.#networks.see(mix(low, high, salt), mix(high, low, salt), setMemberOf(site), nowMs);
    this.#peaks[kind].note({ record, low, high }, networks, nowMs);
  }

  /** Always reads both: epochs wrap around, so each use of the record must remove everything that has expired. */
  #readAll(record: number, nowMs: number, rest: number): void {
    for (const tally of this.#rowCounters) tally.read(record, nowMs, rest);
  }
}
