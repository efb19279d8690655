import type { CustomerNumber } from '../../kernel/brand.ts';
import type {
  BrowserSession,
  Extraction,
  ExtractionId,
  ExtractionPage,
  ExtractionQuery,
  FailureDetail,
  IdempotentOutcome,
  IdempotentRequest,
  JobRequest,
} from '../../work/extraction-job.ts';
import type { StoreFault } from '../../state/tables/durable.ts';
import type { Slices } from '../../state/tables/turns.ts';
import type { Step } from './connector.ts';
import type { SourceSession } from './source-session.ts';

/**
 * The port between the endpoints and the thread that stores and runs jobs. Every method takes the customer, so what belongs to another
 * customer is never found.
 */
export interface ExtractionControl extends Omit<JobReads, 'sessions'>, Omit<JobWrites, 'sessions'> {
  readonly sessions: SessionReads & SessionWrites;
  /** Returns the job once it has ended, or its current state after `timeoutMs`; null if there is no such job. */
  waitFor(customer: CustomerNumber, id: ExtractionId, timeoutMs: number): Promise<Extraction | null>;
}

/** What any thread with the store may do. */
export interface JobReads {
  find(customer: CustomerNumber, id: ExtractionId): Extraction | null;
  page(customer: CustomerNumber, query: ExtractionQuery, slices: Slices): Promise<ExtractionPage>;
  /** Returns the job's records from a position on; none if there is no such job. Never holds more than one chunk beyond the page. */
  records(customer: CustomerNumber, id: ExtractionId, query: RecordQuery): RecordPage;
  /** Returns what a page of any size contains, without its records. Reads one chunk per time slice of the calling thread. */
  measureRecords(customer: CustomerNumber, id: ExtractionId, query: RecordQuery, slices: Slices): Promise<RecordExtent>;
  /**
   * Yields the chunks of a page. Reads each when it is requested, so it never holds more than one; its bytes are valid only until then.
   */
  streamRecords(
    customer: CustomerNumber,
    id: ExtractionId,
    query: RecordQuery,
    slices: Slices,
  ): AsyncIterable<RecordChunk>;
  /** Returns what was stored under an `Idempotency-Key` within the last 24 hours. */
  findIdempotent(customer: CustomerNumber, request: IdempotentRequest): IdempotentOutcome;
  /** Returns the failures of the job that a request created. For the operator only. */
  failureOf(requestId: string): FailureDetail | null;
  readonly sessions: SessionReads;
}

/** What only the extraction thread does itself. Arguments and results can be posted between threads. */
export interface JobWrites {
  /** Settles once the job is on disk. */
  create(job: NewExtraction): Promise<CreateOutcome>;
  /** Cancels the job. Once this has settled, nothing more is fetched for the job, and running fetches are discarded. */
  cancel(customer: CustomerNumber, id: ExtractionId): Promise<CancelOutcome>;
  readonly sessions: SessionWrites;
}

/** Whether the session exists has not been checked. */
export interface NewExtraction extends JobRequest {
  /** Stored encrypted with the job; null if its delivery has no secrets. */
  readonly deliverySecrets: Readonly<Record<string, string>> | null;
  /** Result of `Operation.start`; not empty. */
  readonly steps: readonly Step[];
  /** null without an `Idempotency-Key`. `newSecret`: the secret that only the first response shows; null if there is none. */
  readonly idempotency: (IdempotentRequest & { readonly newSecret: string | null }) | null;
}

export type CreateOutcome =
  | { readonly kind: 'created'; readonly job: Extraction }
  | { readonly kind: 'queue_full'; readonly retryAfterSeconds: number }
  /** The session does not exist, has expired, or belongs to another customer. */
  | { readonly kind: 'unknown_session' }
  /** The customer has reached the maximum number of idempotency keys. */
  | { readonly kind: 'limit_reached' }
  /** Like `findIdempotent`: another request with the same key came first. */
  | Exclude<IdempotentOutcome, { readonly kind: 'new' }>
  | StoreFault;

export type CancelOutcome =
  | { readonly kind: 'cancelled'; readonly job: Extraction }
  /** The job had already ended; nothing was changed. */
  | { readonly kind: 'ended'; readonly job: Extraction }
  | { readonly kind: 'not_found' }
  | StoreFault;

export interface RecordQuery {
  /** 0 is the first record; `_meta.seq` on the wire is one more. */
  readonly fromSeq: number;
  readonly recordsMax: number;
  /** A page has at least one record if there is any, however long it is. */
  readonly bytesMax: number;
}

export interface RecordPage {
  /** In order and without gaps. */
  readonly chunks: readonly RecordChunk[];
  /** Position from which to continue; null after the last record stored so far. */
  readonly nextSeq: number | null;
}

export interface RecordExtent {
  readonly records: number;
  /** Size of the largest chunk. */
  readonly chunkBytesMax: number;
  /** As in `RecordPage`. */
  readonly nextSeq: number | null;
}

export interface RecordChunk {
  /** Position of its first record, from 0. `RecordWriter.records` expects one more. */
  readonly firstSeq: number;
  readonly records: number;
  /** NDJSON without `_meta.seq`. */
  readonly bytes: Uint8Array;
}

export interface SessionReads {
  find(customer: CustomerNumber, id: string): BrowserSession | null;
  /** Newest first. Expired sessions are omitted. */
  page(
    customer: CustomerNumber,
    query: { readonly after: string | null; readonly limit: number },
    slices: Slices,
  ): Promise<{ readonly rows: readonly BrowserSession[]; readonly next: string | null }>;
}

export interface SessionWrites {
  /** Settles once the session is on disk. */
  create(session: NewSession): Promise<SessionOutcome>;
  /** Removes the session. Running jobs that use it find it missing at their next step. */
  remove(customer: CustomerNumber, id: string): Promise<RemoveOutcome>;
}

export type RemoveOutcome = { readonly kind: 'removed' } | { readonly kind: 'not_found' } | StoreFault;

export interface NewSession {
  readonly customer: CustomerNumber;
  readonly session: SourceSession;
  /** Unix milliseconds; null for the longest time that a session is kept. */
  readonly expiresAtMs: number | null;
}

export type SessionOutcome =
  | { readonly kind: 'created'; readonly session: BrowserSession }
  /** The customer has reached the maximum number of sessions. */
  | { readonly kind: 'limit_reached' }
  | StoreFault;
