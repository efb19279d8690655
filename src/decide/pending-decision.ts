import type { Exchange } from '../http/exchange.ts';
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

/** The `Idempotency-Key` of a request, with its body. */
export interface RequestRepeat {
  readonly key: string;
  readonly bodyHash: string;
  readonly body: Uint8Array;
  /** Set when it is the first with its key. */
  first: Repeatable | null;
}

/** What is remembered of a request with an `Idempotency-Key`. */
export interface Repeatable {
  /** SHA-256 of the body, base64. */
  readonly bodyHash: string;
  readonly atMs: number;
  /** State of lists and rules before it was decided. */
  inputs: string;
  /** The body of the response; null until it is decided. */
  answer: string | null;
  /** Requests with the same key and body that arrived before that. */
  waiting: Pending[];
}
