import type { Brand, CustomerNumber } from '../kernel/brand.ts';
import type { ExtractionStatus, FailureReason, JobNote, OutputFormat } from '../contract/vocabulary.ts';

export {
  EXTRACTION_STATUSES,
  type ExtractionStatus,
  FAILURE_REASONS,
  type FailureReason,
  JOB_NOTES,
  type JobNote,
  type OutputFormat,
} from '../contract/vocabulary.ts';

/** Identifies a job, `ext_…`. */
export type ExtractionId = Brand<string, 'ExtractionId'>;

export type Collect = { readonly mode: 'limit'; readonly limit: number } | { readonly mode: 'all' };

/** Source: contract, 11.3. */
export interface OutputOptions {
  readonly format: OutputFormat;
  /** Dotted paths; null for all. */
  readonly fields: readonly string[] | null;
  /** Path → new name. */
  readonly rename: Readonly<Record<string, string>>;
  readonly flatten: boolean;
  /** JSON Schema that shaped records must satisfy; null without one. */
  readonly schema: Readonly<Record<string, unknown>> | null;
  readonly onInvalid: 'drop' | 'keep' | 'fail';
  readonly csv: { readonly delimiter: string; readonly bom: boolean; readonly header: boolean };
}

export interface JobCounts {
  readonly collected: number;
  readonly target: number;
  readonly pages: number;
  readonly errors: number;
  readonly duplicates: number;
}

export interface ExtractionUsage {
  readonly credits: number;
  readonly tier: 'basic' | 'standard' | 'rendered';
}

/** The part of a job that its creation sets, without its secrets. It never changes, except for the status of the delivery. */
export interface JobRequest {
  readonly customer: CustomerNumber;
  /** Id of the request that created it; the key under which failure details are stored. */
  readonly requestId: string;
  readonly connector: string;
  readonly operation: string;
  /** Matches the operation's schema. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly collect: Collect;
  readonly output: OutputOptions;
  /** Id of a session, which may have expired since. */
  readonly session: string | null;
  readonly delivery: ExtractionDelivery;
}

/** A job as its customer sees it. Times are Unix milliseconds; the wire has seconds. */
export interface Extraction extends JobRequest {
  readonly id: ExtractionId;
  readonly status: ExtractionStatus;
  readonly counts: JobCounts;
  readonly usage: ExtractionUsage;
  readonly failure: { readonly reason: FailureReason; readonly retryable: boolean } | null;
  readonly notes: readonly JobNote[];
  /** When a running job continues that is idle because a source asked it to wait; null for any other job. */
  readonly waitingUntilMs: number | null;
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly finishedAtMs: number | null;
  readonly expiresAtMs: number | null;
}

export interface ExtractionQuery {
  /** The last job of the previous page; null to start with the newest. */
  readonly after: ExtractionId | null;
  readonly limit: number;
  /** Filters; null for all. */
  readonly status: ExtractionStatus | null;
  readonly connector: string | null;
  readonly operation: string | null;
}

export interface ExtractionPage {
  /** Newest first. */
  readonly rows: readonly Extraction[];
  /** The next page starts after this job; null at the end. May be set even if the page is not full. */
  readonly next: ExtractionId | null;
}

export interface IdempotentRequest {
  /** As sent by the customer, 1 to 255 characters. */
  readonly key: string;
  /** SHA-256 of the request body. */
  readonly bodySha256: Uint8Array;
}

export type IdempotentOutcome =
  | { readonly kind: 'new' }
  /** `answer`: the first response, as `encodeFirst` wrote it. */
  | { readonly kind: 'replay'; readonly answer: Uint8Array }
  /** The key was used with another body, or the first response was encrypted under another key. */
  | { readonly kind: 'conflict' };

export const DELIVERY_KINDS = ['store', 'sync', 'webhook', 's3', 'http_put'] as const;

/** Destination of the results; secrets are stored separately, encrypted. */
export interface ExtractionDelivery {
  readonly kind: (typeof DELIVERY_KINDS)[number];
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly waitSeconds: number | null;
  readonly url: string | null;
  readonly batchSize: number | null;
  readonly s3: {
    readonly endpoint: string;
    readonly bucket: string;
    readonly region: string;
    readonly prefix: string;
  } | null;
}

/** A session without its contents, which are never disclosed. Times are Unix milliseconds. */
export interface BrowserSession {
  /** `ses_…` */
  readonly id: string;
  readonly customer: CustomerNumber;
  readonly host: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** Details for an operator about a request's job that failed, entirely or partly. */
export interface FailureDetail {
  readonly requestId: string;
  readonly jobId: ExtractionId;
  readonly customer: CustomerNumber;
  /** Oldest first. If there are too many, the first ones and the last one are kept. */
  readonly entries: readonly FailureEntry[];
  /** The total number, including entries that were dropped. */
  readonly count: number;
}

export interface FailureEntry {
  readonly atMs: number;
  readonly reason: FailureReason;
  /** The step's key, usually a URL; '' for the whole job. */
  readonly step: string;
  readonly detail: string;
}
