import type { Exchange } from '../http/exchange.ts';
import type { RequestRepeat } from './repeat-answers.ts';
import type { Key } from '../auth/key-cache.ts';
import type { Admitted, AdmissionRequest } from '../ports/admission.ts';

/** A verified request. */
export interface StagedRequest extends AdmissionRequest {
  readonly exchange: Exchange;
  readonly key: Key;
  /** The decision's time, Unix ms. */
  readonly occurredAtMs: number;
  /** `performance.now()` at its arrival. */
  readonly startedAtMs: number;
  /** Absent without an `Idempotency-Key`. */
  readonly repeat?: RequestRepeat;
}

/** What is kept of a request from its admission to its response. */
export type Pending = Admitted<StagedRequest>;
