/**
 * Admits the verified requests of one installation: counts each request against its rate window, and uses up its request id.
 *
 * Takes the requests that arrived in one turn of the event loop, in the order of their arrival, so that an adapter over a network needs one
 * round trip for all of them, while the single-node adapter (`src/local`) answers at once.
 *
 * The rate is checked first: a request over its rate keeps its id. A replay is not counted against the rate: it proves no more than what
 * was overheard. Exactly one of several copies of a request is admitted, in whatever
 * batches and on whatever nodes they arrive. Direction of failure: closed. What cannot be counted and remembered is `unavailable`.
 */
export interface Admission {
  /**
   * Returns one verdict for each request, in the same order. Never rejects for a store that cannot be reached. The store may forget an id
   * from its expiry on, by its own clock: a caller refuses a request whose timestamp has left its window when the verdict arrives.
   */
  admit<T extends AdmissionRequest>(
    batch: readonly T[],
  ): readonly AdmissionVerdict<T>[] | Promise<readonly AdmissionVerdict<T>[]>;
  /**
   * Adds an admitted id to what the next commit of this node's journal writes. Called before the request is answered. An adapter whose
   * `admit` is durable does nothing.
   */
  stage(id: AdmittedId): void;
  /** Makes an admitted id available again, because its request was not answered as accepted. */
  release(id: AdmittedId): void;
}

/** `decide`: decisions of a key. `management`: its other calls. `outcomes`: calls as frequent as decisions, counted apart from them. */
export type RateWindowName = 'decide' | 'management' | 'outcomes';

export interface AdmissionRequest {
  readonly window: RateWindowName;
  readonly keyNumber: number;
  /** Requests of this key per window. */
  readonly allowance: number;
  /** The visitor of a public key, who has a share of the allowance; null to count against the allowance alone. */
  readonly source: string | null;
  /** Null for a request without id, and for one that will be refused whatever the verdict is: then only its rate is counted. */
  readonly requestId: string | null;
  /** Time of the request id, which is remembered until this + 301 s; unused without an id. */
  readonly timestampSeconds: number;
  /** When the request was verified, Unix seconds. Its rate window and the expiry of earlier ids are those of this second. */
  readonly nowSeconds: number;
}

export type AdmissionVerdict<T> = Admitted<T> | Refused<T> | Unavailable<T>;

/** State of the key's window, or of the visitor's share in it: a visitor cannot observe the traffic of others. */
export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  /** End of the window, Unix seconds. */
  readonly resetSeconds: number;
  /** Whole seconds until the end of the window, at least 1. */
  readonly retryAfterSeconds: number;
}

export interface Admitted<T> extends RateState {
  readonly outcome: 'admitted';
  readonly request: T;
  /** Null for a request without an id. */
  readonly id: AdmittedId | null;
  /** Whether this node decided alone, because the store that it shares with others did not answer; absent if not. */
  readonly isDegraded?: boolean;
}

export interface Refused<T> extends RateState {
  /** `full`: the rate allowed it, but there is no room for further ids of this key. Nothing was remembered. */
  readonly outcome: 'rate_limited' | 'replayed' | 'full';
  readonly request: T;
}

/** The store could not be reached. Whether the request was counted is unknown. */
export interface Unavailable<T> {
  readonly outcome: 'unavailable';
  readonly request: T;
}

/** A request id as stores hold it: its keyed 64-bit hash, in two unsigned halves. */
export interface AdmittedId {
  readonly hashLow: number;
  readonly hashHigh: number;
  /** Unix seconds from which on the id may be used again. */
  readonly expiresAtSeconds: number;
  readonly keyNumber: number;
}
