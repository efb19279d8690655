import type { HistoryEvent, IpHistory } from '../core/history.ts';
import { ARRIVAL_WORDS, Arrivals } from './arrivals.ts';
import { Counter } from './counter.ts';
import { DeskRecords, NO_DESK } from './desk-record.ts';
import type { EventKeys } from './event-keys.ts';
import { mix, SALT_COLD } from './keys.ts';
import { KIND_ADDRESS, KIND_SET } from './layout.ts';
import { Ring } from './ring.ts';
import { SetRecords } from './set-record.ts';
import type { Table } from './table.ts';
import { HOUR_SET, memberOf } from './timed-set.ts';

/**
 *   0 hash   1 flags   2-19 decisions, 36 of 1 min   20-25 arrivals of 10 min, 26-31 of 1 h (`arrivals.ts`)
 *
 * What only some addresses have is in further records: sign-ups, cold logins and cold payments (`desk-record.ts`), and a set of
 * the entities of cold events for each name of their keys.
 */
const AT_FLAGS = 1;
const AT_ARRIVALS_10M = 20;
const FLAG_DECISIONS = 1;
const FLAG_DESK = 2;
const FLAG_COLD = 4;

const DESK_EVENTS: ReadonlySet<string> = new Set(['login', 'signup', 'payment', 'checkout']);

export class AddressRecords {
  readonly #table: Table;
  readonly #decisions: Counter;
  readonly #arrivals10m: Arrivals;
  readonly #arrivals1h: Arrivals;
  readonly #desk: DeskRecords;
  readonly #coldEntities: SetRecords;

  constructor(table: Table) {
    this.#table = table;
    const windowMs = 60_000;
    const ring = new Ring(table, { at: 2, words: 18, windowMs });
    this.#decisions = new Counter(table, ring, { windowMs, flagsAt: AT_FLAGS, flag: FLAG_DECISIONS, counter: 0 });
    this.#arrivals10m = new Arrivals(table, { at: AT_ARRIVALS_10M, windowMs: 600_000 });
    this.#arrivals1h = new Arrivals(table, { at: AT_ARRIVALS_10M + ARRIVAL_WORDS, windowMs: 3_600_000 });
    this.#desk = new DeskRecords(table);
    this.#coldEntities = new SetRecords(table, KIND_SET, HOUR_SET);
  }

  /** null where the record cannot be had. */
  observe(
    event: HistoryEvent,
    keys: EventKeys,
    nowSeconds: number,
    isCold: boolean,
    arrives: { readonly arrives10m: boolean; readonly arrives1h: boolean },
  ): IpHistory | null {
    const table = this.#table;
    const { hostLow: low, hostHigh: high } = keys;
    const { nowMs, eventType } = event;
    const record = table.take(low, high, KIND_ADDRESS, nowSeconds);
    if (record === 0) return null;
    const rest = table.restSeconds;
    const share10m = this.#share(this.#arrivals10m, record, arrives.arrives10m, isCold, nowMs, rest);
    const share1h = this.#share(this.#arrivals1h, record, arrives.arrives1h, isCold, nowMs, rest);
    const decisions1m = this.#decisions.add(record, low, high, nowMs, rest);
    const coldEntities1h = isCold ? this.#addCold(record, keys, nowMs) : this.#countCold(record, event, keys);
    const flags = table.words[record + AT_FLAGS] ?? 0;
    const desk = DESK_EVENTS.has(eventType)
      ? this.#desk.observe(event, keys, isCold, (flags & FLAG_DESK) !== 0)
      : NO_DESK;
    if (desk.isThere && (flags & FLAG_DESK) === 0) Atomics.or(table.words, record + AT_FLAGS, FLAG_DESK);
    return {
      decisions1m,
      signups24h: desk.signups24h,
      coldLogins10m: desk.coldLogins10m,
      coldPayments1h: desk.coldPayments1h,
      coldEntities1h,
      coldShare10m: share10m,
      coldShare1h: share1h,
    };
  }

  #share(arrivals: Arrivals, record: number, arrives: boolean, isCold: boolean, nowMs: number, rest: number): number {
    const share = arrivals.share(record, nowMs, rest);
    if (!arrives) return share;
    arrivals.add(record, isCold, nowMs);
    return arrivals.share(record, nowMs, 0);
  }

  #addCold(record: number, keys: EventKeys, nowMs: number): number {
    Atomics.or(this.#table.words, record + AT_FLAGS, FLAG_COLD);
    let most = 0;
    for (let n = 0; n < keys.entities; n++) {
      const member = memberOf(keys.entityHigh[n] ?? 0);
      most = Math.max(most, this.#coldEntities.see(lowOf(keys, n), highOf(keys, n), member, nowMs));
    }
    return most;
  }

  #countCold(record: number, { eventType, nowMs }: HistoryEvent, keys: EventKeys): number {
    const hasCold = ((this.#table.words[record + AT_FLAGS] ?? 0) & FLAG_COLD) !== 0;
    if (!hasCold || !DESK_EVENTS.has(eventType)) return 0;
    let most = 0;
    for (let n = 0; n < keys.entities; n++) {
      most = Math.max(most, this.#coldEntities.count(lowOf(keys, n), highOf(keys, n), nowMs));
    }
    return most;
  }
}

function lowOf({ hostLow, nameHash }: EventKeys, n: number): number {
  return mix(hostLow, nameHash[n] ?? 0, SALT_COLD);
}

function highOf({ hostHigh, nameHash }: EventKeys, n: number): number {
  return mix(hostHigh, nameHash[n] ?? 0, SALT_COLD);
}
