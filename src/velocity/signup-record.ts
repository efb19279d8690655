import { Counter } from './counter.ts';
import type { EventKeys } from './event-keys.ts';
import { KIND_SIGNUPS } from './layout.ts';
import { Ring } from './ring.ts';
import type { Table } from './table.ts';

/**
 * Sign-ups of an address, from the first one on.
 *
 *   0 hash   1 flags   2-16 sign-ups, 30 of 24 h   17-31 unused
 */
const AT_FLAGS = 1;
const WINDOW_MS = 86_400_000;

export class SignupRecords {
  readonly #table: Table;
  readonly #signups: Counter;

  constructor(table: Table) {
    this.#table = table;
    const ring = new Ring(table, { at: 2, words: 15, windowMs: WINDOW_MS });
    this.#signups = new Counter(table, ring, { windowMs: WINDOW_MS, flagsAt: AT_FLAGS, flag: 1, counter: 0 });
  }

  /** Returns the sign-ups of the last 24 h; the first one creates the record. */
  observe({ hostLow, hostHigh }: EventKeys, isSignup: boolean, nowMs: number): number {
    const table = this.#table;
    const nowSeconds = Math.floor(nowMs / 1_000);
    const record = isSignup
      ? table.take(hostLow, hostHigh, KIND_SIGNUPS, nowSeconds)
      : table.find(hostLow, hostHigh, KIND_SIGNUPS, nowSeconds);
    if (record === 0) return 0;
    const rest = table.restSeconds;
    // Inverts the address's key, whose overflow record counts other things.
    return isSignup
      ? this.#signups.add(record, ~hostLow, ~hostHigh, nowMs, rest)
      : this.#signups.count(record, ~hostLow, ~hostHigh, nowMs, rest);
  }
}
