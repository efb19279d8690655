import type { Exchange } from '../http/exchange.ts';
import type { Key } from '../auth/key-cache.ts';
import type { RateState } from './rate-windows.ts';
import type { ReplayEntry } from './replay-guard.ts';

/** What is kept of a request from its batch to its response. */
export interface Pending {
  readonly exchange: Exchange;
  readonly key: Key;
  readonly rate: RateState;
  readonly replay: ReplayEntry;
  /** The decision's time, Unix ms. */
  readonly occurredAtMs: number;
  /** `performance.now()` at its arrival. */
  readonly startedAtMs: number;
  /** How many decisions its log line represents; 0 if it is not logged. */
  readonly logged: number;
}
