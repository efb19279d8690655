import { mix } from './keys.ts';
import { OutcomeTally } from './outcome-tally.ts';
import type { Table } from './table.ts';

/**
 * Outcomes of an entity, an address or a session, from the first one on; a flag in the subject's own record marks its existence.
 *
 *   0 hash   1 for an account: where its logins were counted (`account-days.ts`)   2-14 logins, in twelfths of 1 h (for an address 24 h)
 *   15-27 payments, in twelfths of 1 h
 *   28-31 for an entity: where its logins succeeded (`success-places.ts`); for an address: accounts (`address-record.ts`); else unused
 */
const PARTS = 12;
const HOUR_MS = 3_600_000;

/** An outcome to count, or to revert. */
export interface OutcomeChange {
  readonly isLogin: boolean;
  readonly isBad: boolean;
  readonly by: 1 | -1;
  readonly eventMs: number;
  readonly nowMs: number;
}

export class OutcomeRecords {
  readonly logins: OutcomeTally;
  readonly payments: OutcomeTally;
  readonly #table: Table;
  readonly #kind: number;
  readonly #salt: number;

  /** `kind` and `salt` identify the kind of subject. */
  constructor(table: Table, kind: number, salt: number, loginWindowMs = HOUR_MS) {
    this.#table = table;
    this.#kind = kind;
    this.#salt = salt;
    this.logins = new OutcomeTally(table, { at: 2, parts: PARTS, windowMs: loginWindowMs });
    this.payments = new OutcomeTally(table, { at: 3 + PARTS, parts: PARTS, windowMs: HOUR_MS });
  }

  /** Returns the record without reading its tallies; 0 if there is none. */
  find(low: number, high: number, nowSeconds: number): number {
    const salt = this.#salt;
    return this.#table.peek(mix(low, high, salt), mix(high, low, salt), this.#kind, nowSeconds);
  }

  /** Fills both tallies and returns the record; 0 if there is none. `low` and `high` are the subject's key. */
  read(low: number, high: number, nowMs: number): number {
    const table = this.#table;
    const salt = this.#salt;
    const record = table.find(mix(low, high, salt), mix(high, low, salt), this.#kind, Math.floor(nowMs / 1_000));
    if (record !== 0) this.#readAll(record, nowMs, table.restSeconds);
    return record;
  }

  /** Applies the change and returns the record; 0 when it is unavailable. `counts` false only reads. */
  change(low: number, high: number, { isLogin, isBad, by, eventMs, nowMs }: OutcomeChange, counts = true): number {
    const table = this.#table;
    const salt = this.#salt;
    const record = table.take(mix(low, high, salt), mix(high, low, salt), this.#kind, Math.floor(nowMs / 1_000));
    if (record === 0) return 0;
    this.#readAll(record, nowMs, table.restSeconds);
    if (counts) (isLogin ? this.logins : this.payments).change(record, eventMs, nowMs, isBad, by);
    return record;
  }

  /** Always reads both: epochs wrap around, so each use of the record must remove everything that has expired. */
  #readAll(record: number, nowMs: number, rest: number): void {
    this.logins.read(record, nowMs, rest);
    this.payments.read(record, nowMs, rest);
  }
}
