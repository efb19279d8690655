import type { HistoryEvent } from '../core/history.ts';
import { Counter } from './counter.ts';
import type { EventKeys } from './event-keys.ts';
import { KIND_DESK } from './layout.ts';
import { Ring } from './ring.ts';
import type { Table } from './table.ts';

/**
 * What an address has from its first sign-up, cold login or cold payment on.
 *
 *   0 hash   1 flags   2-11 sign-ups, 20 of 24 h   12-21 cold logins, 20 of 10 min   22-31 cold payments, 20 of 1 h
 */
const AT_FLAGS = 1;
const WORDS = 10;
const WINDOWS_MS = { signups: 86_400_000, logins: 600_000, payments: 3_600_000 } as const;

export interface Desk {
  readonly isThere: boolean;
  readonly signups24h: number;
  readonly coldLogins10m: number;
  readonly coldPayments1h: number;
}

export const NO_DESK: Desk = { isThere: false, signups24h: 0, coldLogins10m: 0, coldPayments1h: 0 };

export class DeskRecords {
  readonly #table: Table;
  readonly #signups: Counter;
  readonly #logins: Counter;
  readonly #payments: Counter;

  constructor(table: Table) {
    this.#table = table;
    const counter = (windowMs: number, n: number): Counter => {
      const ring = new Ring(table, { at: 2 + n * WORDS, words: WORDS, windowMs });
      return new Counter(table, ring, { windowMs, flagsAt: AT_FLAGS, flag: 1 << n, counter: n });
    };
    this.#signups = counter(WINDOWS_MS.signups, 0);
    this.#logins = counter(WINDOWS_MS.logins, 1);
    this.#payments = counter(WINDOWS_MS.payments, 2);
  }

  /** Makes the record only if there is something to count. */
  observe({ eventType, nowMs }: HistoryEvent, keys: EventKeys, isCold: boolean, isThere: boolean): Desk {
    const table = this.#table;
    const isSignup = eventType === 'signup';
    const isLogin = isCold && eventType === 'login';
    const isPayment = isCold && (eventType === 'payment' || eventType === 'checkout');
    const adds = isSignup || isLogin || isPayment;
    if (!adds && !isThere) return NO_DESK;
    const nowSeconds = Math.floor(nowMs / 1_000);
    const { hostLow, hostHigh } = keys;
    const record = adds
      ? table.take(hostLow, hostHigh, KIND_DESK, nowSeconds)
      : table.find(hostLow, hostHigh, KIND_DESK, nowSeconds);
    if (record === 0) return NO_DESK;
    const rest = table.restSeconds;
    // Another key than the address's, whose further record has other counters.
    const low = ~hostLow;
    const high = ~hostHigh;
    const count = (counter: Counter, isAdded: boolean): number =>
      isAdded ? counter.add(record, low, high, nowMs, rest) : counter.count(record, low, high, nowMs, rest);
    return {
      isThere: true,
      signups24h: count(this.#signups, isSignup),
      coldLogins10m: count(this.#logins, isLogin),
      coldPayments1h: count(this.#payments, isPayment),
    };
  }
}
