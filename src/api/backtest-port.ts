import type { CustomerNumber } from '../kernel/brand.ts';
import type { OwnRule } from '../risk/policy/own-rule.ts';

/** What a caller wants to try. */
export interface BacktestWish {
  readonly customer: CustomerNumber;
  /** Text of a policy file; null for the present one. */
  readonly policy: string | null;
  /** Null for those of the API. */
  readonly rules: readonly OwnRule[] | null;
  readonly sinceMs: number;
  readonly untilMs: number;
}

export interface BacktestState {
  readonly id: string;
  readonly status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** 0 to 1. */
  readonly progress: number;
  /** Requests that were decided again so far, also those before the range. */
  readonly replayed: number;
  /** Why it failed; '' otherwise. */
  readonly detail: string;
  /** What was computed; null until it has ended. */
  readonly result: object | null;
}

/** The backtests of this node: they run in a process of their own, one after the other, and are forgotten by a restart. */
export interface BacktestQueue {
  /** Returns null if the customer has too many that have not ended. */
  start(wish: BacktestWish, nowMs: number): BacktestState | null;
  find(customer: CustomerNumber, id: string): BacktestState | null;
  /** Ends it; what was computed stays. Returns null if there is none. */
  cancel(customer: CustomerNumber, id: string): BacktestState | null;
}
