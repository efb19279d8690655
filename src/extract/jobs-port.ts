import type { CustomerNumber } from '../base/brand.ts';
import type {
  BrowserSession,
  Collect,
  Extraction,
  ExtractionDelivery,
  ExtractionId,
  ExtractionStatus,
  FailureDetail,
  OutputOptions,
} from '../core/extraction.ts';
import type { StoreFault } from '../store/durable.ts';
import type { Slices } from '../store/turns.ts';
import type { Step } from './connector.ts';
import type { SourceSession } from './fetch/session.ts';

/**
 * The port between the endpoints and the side that keeps jobs and works on them. All of it is asked by customer, so what belongs to
 * another is not there.
 */
export interface ExtractionControl {
  /** The job is on the disk before this settles. */
  create(job: NewExtraction): Promise<CreateOutcome>;
  find(customer: CustomerNumber, id: ExtractionId): Extraction | null;
  /** Newest first. `next` is possibly set although the page is not full. */
  page(
    customer: CustomerNumber,
    query: ExtractionQuery,
    slices: Slices,
  ): Promise<{ readonly rows: readonly Extraction[]; readonly next: ExtractionId | null }>;
  /** From the answer on nothing of the job is fetched any more; what is being fetched is thrown away. */
  cancel(customer: CustomerNumber, id: ExtractionId): Promise<CancelOutcome>;
  /** The job when it has ended, or as it stands after `timeoutMs`; null when there is none. */
  waitFor(customer: CustomerNumber, id: ExtractionId, timeoutMs: number): Promise<Extraction | null>;
  /** The job's records from one on. Of a job that is not there: none. It never holds more than a chunk beside the page. */
  records(customer: CustomerNumber, id: ExtractionId, query: RecordQuery): RecordPage;
  /** The same for a page as large as one may be: a chunk in a slice of the main thread. */
  recordsInSlices(customer: CustomerNumber, id: ExtractionId, query: RecordQuery, slices: Slices): Promise<RecordPage>;
  /** What was stored under an `Idempotency-Key` in the last 24 hours. */
  findIdempotent(customer: CustomerNumber, request: IdempotentRequest): IdempotentOutcome;
  readonly sessions: SessionControl;
  /** What went wrong in the job that a request made; for the operator alone. */
  failureOf(requestId: string): FailureDetail | null;
}

export interface NewExtraction {
  readonly customer: CustomerNumber;
  readonly requestId: string;
  readonly connector: string;
  readonly operation: string;
  /** It holds to the operation's schema. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly collect: Collect;
  readonly output: OutputOptions;
  /** A session's id, unchecked. */
  readonly session: string | null;
  readonly delivery: ExtractionDelivery;
  /** Kept sealed with the job; null where its delivery has none. */
  readonly deliverySecrets: Readonly<Record<string, string>> | null;
  /** What `Operation.start` said of the input; not empty. */
  readonly steps: readonly Step[];
  /** null without an `Idempotency-Key`. */
  readonly idempotency: (IdempotentRequest & { answer(job: Extraction): Uint8Array }) | null;
}

export interface IdempotentRequest {
  /** As the customer wrote it, 1 to 255 characters. */
  readonly key: string;
  /** Of the request's body. */
  readonly bodySha256: Uint8Array;
}

export type CreateOutcome =
  | { readonly kind: 'created'; readonly job: Extraction }
  | { readonly kind: 'queue_full'; readonly retryAfterSeconds: number }
  /** The session is not there, has expired, or is another customer's. */
  | { readonly kind: 'unknown_session' }
  /** The customer has as many idempotency keys as it may. */
  | { readonly kind: 'limit_reached' }
  /** As `findIdempotent`: another request under the same key came first. */
  | Exclude<IdempotentOutcome, { readonly kind: 'new' }>
  | StoreFault;

export type IdempotentOutcome =
  | { readonly kind: 'new' }
  /** `answer` is what `NewExtraction.idempotency.answer` gave for the first one. */
  | { readonly kind: 'replay'; readonly answer: Uint8Array }
  /** Another body came under this key. */
  | { readonly kind: 'conflict' };

export type CancelOutcome =
  | { readonly kind: 'cancelled'; readonly job: Extraction }
  /** It had ended before; nothing was changed. */
  | { readonly kind: 'ended'; readonly job: Extraction }
  | { readonly kind: 'not_found' }
  | StoreFault;

export interface ExtractionQuery {
  /** The last job that was seen; null from the newest on. */
  readonly after: ExtractionId | null;
  readonly limit: number;
  /** A filter each; null for all. */
  readonly status: ExtractionStatus | null;
  readonly connector: string | null;
  readonly operation: string | null;
}

export interface RecordQuery {
  /** 0 is the first record; the wire's `_meta.seq` is one more. */
  readonly fromSeq: number;
  readonly recordsMax: number;
  /** The page has at least one record where there is one, however long. */
  readonly bytesMax: number;
}

export interface RecordPage {
  /** In order, without a gap. */
  readonly chunks: readonly RecordChunk[];
  /** Where to go on; null behind the last record that is there now. */
  readonly nextSeq: number | null;
}

export interface RecordChunk {
  /** Of its first record, from 0. `RecordWriter.records` wants one more. */
  readonly firstSeq: number;
  readonly records: number;
  /** NDJSON without `_meta.seq`. */
  readonly bytes: Uint8Array;
}

export interface SessionControl {
  /** On the disk before this settles. */
  create(session: NewSession): Promise<SessionOutcome>;
  find(customer: CustomerNumber, id: string): BrowserSession | null;
  /** Newest first. Those that have expired are not told. */
  page(
    customer: CustomerNumber,
    query: { readonly after: string | null; readonly limit: number },
    slices: Slices,
  ): Promise<{ readonly rows: readonly BrowserSession[]; readonly next: string | null }>;
  /** Jobs that run under it find it gone at their next step. */
  remove(
    customer: CustomerNumber,
    id: string,
  ): Promise<{ readonly kind: 'removed' } | { readonly kind: 'not_found' } | StoreFault>;
}

export interface NewSession {
  readonly customer: CustomerNumber;
  readonly session: SourceSession;
  /** Unix milliseconds; null for the longest that a session is kept. */
  readonly expiresAtMs: number | null;
}

export type SessionOutcome =
  | { readonly kind: 'created'; readonly session: BrowserSession }
  /** The customer has as many as one may have. */
  | { readonly kind: 'limit_reached' }
  | StoreFault;
