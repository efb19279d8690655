import type { KeptMsOf } from './request-rows.ts';
import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import {
  LEARNING_ROWS_KEPT_MS,
  LEARNING_ROWS_PER_CUSTOMER_MAX,
  LEARNING_ROWS_WAITING_MAX,
} from '../../kernel/history-limits.ts';
import { pack, unpack } from '../../kernel/pack.ts';
import { DECISIONS, type Decision } from '../../risk/decision.ts';
import { durablyTogether, type StoreFault, type StoreWrite } from './durable.ts';
import { endOfCustomer, requestIdOf, requestKey } from './request-rows.ts';
import { type Slices, walkInSlices } from './turns.ts';
import { u32Key, withoutSum, withSum } from './value.ts';

/** Why the row of a decision is kept longer than the decision: a sample of ALLOW, or a label. */
const KEPT_REASONS = ['sample', 'label'] as const;
export type KeptReason = (typeof KEPT_REASONS)[number];

/** What a model can learn from a decision, without anything that names a person. */
export interface KeptRow {
  readonly requestId: string;
  readonly occurredAtMs: number;
  readonly kept: KeptReason;
  readonly eventType: string;
  /** In observe mode the one that would have been. */
  readonly decision: Decision;
  /** Keyed hashes, for rows that belong together. */
  readonly session: string | null;
  readonly accounts: readonly string[];
  readonly features: Buffer;
  /** Share of such decisions whose row was kept, and the policy; null in rows of older builds. */
  readonly rate: number | null;
  readonly policyVersion: string | null;
}

/** Choice: rows removed per flush of one customer; the sample of a million decisions a day adds under one a flush. */
const PRUNE_ROWS = 500;
/** Choice: rows that an erasure removes in one transaction. */
const ERASE_ROWS = 500;

/**
 * Feature rows to learn from, which outlive their decisions, by customer and in the order of the decisions. Some 150 bytes each. Written
 * after the responses. A killed process loses what waited for the next `flush`. Failure direction: open. While the disk accepts no writes
 * 10,000 wait in memory, and the others are not kept.
 */
export class LearningRows {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #table: Database<Buffer, Buffer>;
  readonly #perCustomerMax: number;
  readonly #waiting = new Map<string, { readonly key: Buffer; readonly value: Buffer }>();
  /** Rows of a customer, counted when it first gets new ones. */
  readonly #rowsOf = new Map<number, number>();
  #flushing: Promise<StoreFault | null> | null = null;
  /** Continues here to remove ended rows. */
  #nextCustomer = 0;
  #broken = false;

  constructor(
    root: RootDatabase<Buffer, Buffer>,
    table: Database<Buffer, Buffer>,
    perCustomerMax = LEARNING_ROWS_PER_CUSTOMER_MAX,
  ) {
    this.#root = root;
    this.#table = table;
    this.#perCustomerMax = perCustomerMax;
  }

  /** LMDB does not recover in this process: closing the environment would hang. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Replaces the row of the decision. */
  keep(customer: CustomerNumber, row: KeptRow): void {
    const key = requestKey(customer, row.requestId);
    if (key === null || this.#waiting.size >= LEARNING_ROWS_WAITING_MAX) return;
    const value = pack([
      KEPT_REASONS.indexOf(row.kept),
      row.eventType,
      DECISIONS.indexOf(row.decision),
      row.session,
      [...row.accounts],
      row.features,
      row.rate,
      row.policyVersion,
    ]);
    this.#waiting.set(key.toString('latin1'), { key, value });
  }

  /** Passes the stored rows that are not older than `LEARNING_ROWS_KEPT_MS`; of one customer, or of all (null). */
  *read(
    customer: CustomerNumber | null,
    nowMs: number,
    visit: (customer: CustomerNumber, row: KeptRow) => void,
  ): Generator<undefined, void> {
    const range = customer === null ? {} : { start: u32Key(customer), end: endOfCustomer(customer) };
    let n = 0;
    for (const { key, value } of this.#table.getRange(range)) {
      const row = readRow(Buffer.from(key), withoutSum(value));
      if (row.occurredAtMs >= nowMs - LEARNING_ROWS_KEPT_MS) visit(key.readUInt32BE(0) as CustomerNumber, row);
      if (++n % SLICE_ROWS === 0) yield;
    }
  }

  /** Passes the stored rows of a customer, in slices. */
  async each(customer: CustomerNumber, slices: Slices, visit: (row: KeptRow, key: Buffer) => void): Promise<void> {
    const range = { start: u32Key(customer), end: endOfCustomer(customer) };
    await walkInSlices(this.#table, range, slices, (key, value) => {
      const own = Buffer.from(key);
      visit(readRow(own, Buffer.from(withoutSum(value))), own);
      return 'on';
    });
  }

  /** Removes rows of a customer; returns their number, or a fault. */
  async erase(
    customer: CustomerNumber,
    isAbout: (row: KeptRow) => boolean,
    slices: Slices,
    nowMs: number,
  ): Promise<StoreWrite<number>> {
    const flushed = await this.flush(nowMs);
    if (flushed !== null) return flushed;
    const keys: Buffer[] = [];
    await this.each(customer, slices, (row, key) => {
      if (isAbout(row)) keys.push(key);
    });
    this.#rowsOf.delete(customer);
    for (let at = 0; at < keys.length; at += ERASE_ROWS) {
      await slices.begin();
      const removed = await durablyTogether(this.#root, () => {
        for (const key of keys.slice(at, at + ERASE_ROWS)) void this.#table.remove(key);
      });
      if (removed.kind === 'fault') return removed;
    }
    // A flush in between may have counted rows that are gone now.
    this.#rowsOf.delete(customer);
    return { kind: 'ok', value: keys.length };
  }

  /** Writes waiting rows and removes some ended and excess ones; null on success. Calls do not overlap. */
  flush(nowMs: number, keptMsOf: KeptMsOf = () => LEARNING_ROWS_KEPT_MS): Promise<StoreFault | null> {
    this.#flushing ??= this.#flush(nowMs, keptMsOf).finally(() => {
      this.#flushing = null;
    });
    return this.#flushing;
  }

  async #flush(nowMs: number, keptMsOf: KeptMsOf): Promise<StoreFault | null> {
    if (this.#broken) return null;
    const taken = [...this.#waiting.values()];
    const ended = this.#ended(nowMs, keptMsOf);
    if (taken.length === 0 && ended.length === 0) return null;
    this.#waiting.clear();
    const removed = [...ended, ...this.#excess(taken)];
    const written = await durablyTogether(this.#root, () => {
      for (const { key, value } of taken) void this.#table.put(key, withSum(key, value));
      for (const key of removed) void this.#table.remove(key);
    });
    if (written.kind === 'ok') return null;
    this.#rowsOf.clear();
    if (written.code !== 'store_stuck') return written;
    // Decisions work without this environment, so its fault must not end the process.
    this.#broken = true;
    return { ...written, code: 'store_write_failed' };
  }

  /** Returns ended rows of the next customer. */
  #ended(nowMs: number, keptMsOf: KeptMsOf): Buffer[] {
    const [first] = this.#table.getKeys({ start: u32Key(this.#nextCustomer), limit: 1 });
    if (first === undefined) {
      this.#nextCustomer = 0;
      return [];
    }
    const customer = Buffer.from(first).readUInt32BE(0);
    this.#nextCustomer = customer + 1;
    const end = Buffer.concat([u32Key(customer), Buffer.alloc(6)]);
    end.writeUIntBE(Math.max(0, Math.floor(nowMs - keptMsOf(customer as CustomerNumber))), TIME_AT, 6);
    const ended = this.#oldest(customer, end, PRUNE_ROWS);
    const rows = this.#rowsOf.get(customer);
    if (rows !== undefined) this.#rowsOf.set(customer, rows - ended.length);
    return ended;
  }

  /** Returns the oldest rows of the customers that get new ones and have too many. */
  #excess(taken: readonly { readonly key: Buffer }[]): Buffer[] {
    const added = new Map<number, number>();
    for (const { key } of taken) added.set(key.readUInt32BE(0), (added.get(key.readUInt32BE(0)) ?? 0) + 1);
    return [...added].flatMap(([customer, more]) => {
      const end = endOfCustomer(customer);
      const before = this.#rowsOf.get(customer) ?? this.#table.getKeysCount({ start: u32Key(customer), end });
      const excess = Math.max(0, before + more - this.#perCustomerMax);
      const removed = excess === 0 ? [] : this.#oldest(customer, end, Math.min(PRUNE_ROWS, excess));
      // A row that was replaced is counted twice, until the next start.
      this.#rowsOf.set(customer, before + more - removed.length);
      return removed;
    });
  }

  #oldest(customer: number, end: Buffer, limit: number): Buffer[] {
    return [...this.#table.getKeys({ start: u32Key(customer), end, limit })].map((key) => Buffer.from(key));
  }
}

/** Choice: a few ms of reading between two turns of the event loop. */
const SLICE_ROWS = 2_000;

function readRow(key: Buffer, value: Buffer): KeptRow {
  const [kept, eventType, decision, session, accounts, features, rate, policyVersion] = unpack(value);
  return {
    requestId: requestIdOf(key),
    occurredAtMs: key.readUIntBE(TIME_AT, 6),
    kept: KEPT_REASONS[Number(kept)] ?? 'sample',
    eventType: String(eventType),
    decision: DECISIONS[Number(decision)] ?? 'ALLOW',
    session: typeof session === 'string' ? session : null,
    accounts: Array.isArray(accounts) ? accounts.map(String) : [],
    features: Buffer.from(features as Uint8Array),
    rate: typeof rate === 'number' ? rate : null,
    policyVersion: typeof policyVersion === 'string' ? policyVersion : null,
  };
}

/** Where the time begins in a key. */
const TIME_AT = 4;
