import type { Brand, CustomerNumber } from '../base/brand.ts';

/** Identifies a job, `ext_…`. */
export type ExtractionId = Brand<string, 'ExtractionId'>;

/** Source: extraction specification, section 3; they move only from left to right. */
export const EXTRACTION_STATUSES = ['queued', 'running', 'succeeded', 'failed'] as const;
export type ExtractionStatus = (typeof EXTRACTION_STATUSES)[number];

/** The generic reasons of a failed job. Source: open points, section 5. */
export const FAILURE_REASONS = [
  'source_unavailable',
  'source_not_found',
  'access_denied',
  'rate_limited_by_source',
  'robots_disallowed',
  'login_required',
  'session_expired',
  'unsupported_content',
  'parse_failed',
  'schema_mismatch',
  'timeout',
  'limit_reached',
  'cancelled',
  'internal_error',
] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

/**
 * Codes of a job's `notes`, in wire order. The position of a code is its bit in the stored state, so new codes are appended.
 */
export const JOB_NOTES = ['records_truncated', 'records_dropped', 'list_incomplete', 'page_limit_reached'] as const;
export type JobNote = (typeof JOB_NOTES)[number];

export type Collect = { readonly mode: 'limit'; readonly limit: number } | { readonly mode: 'all' };

export const OUTPUT_FORMATS = ['json', 'ndjson', 'csv'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Source: open points, section 5, `output`. */
export interface OutputOptions {
  readonly format: OutputFormat;
  /** Dotted paths; null for all. */
  readonly fields: readonly string[] | null;
  /** Path → new name. */
  readonly rename: Readonly<Record<string, string>>;
  readonly flatten: boolean;
  /** JSON Schema that shaped records must hold to; null without. */
  readonly schema: Readonly<Record<string, unknown>> | null;
  readonly onInvalid: 'drop' | 'keep' | 'fail';
  readonly csv: { readonly delimiter: string; readonly bom: boolean; readonly header: boolean };
}

export interface ExtractionCounts {
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

/** A job without its secrets. Times are Unix milliseconds; the wire has seconds. */
export interface Extraction {
  readonly id: ExtractionId;
  readonly customer: CustomerNumber;
  /** Of the request that made it; the key under which failure detail is kept. */
  readonly requestId: string;
  readonly connector: string;
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly collect: Collect;
  readonly output: OutputOptions;
  readonly session: string | null;
  readonly delivery: ExtractionDelivery;
  readonly status: ExtractionStatus;
  readonly counts: ExtractionCounts;
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

export const DELIVERY_KINDS = ['store', 'sync', 'webhook', 's3', 'http_put'] as const;

/** Where results go; secrets are kept apart, sealed. */
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

/** A session without what it holds, which is never told. Times are Unix milliseconds. */
export interface BrowserSession {
  /** `ses_…` */
  readonly id: string;
  readonly customer: CustomerNumber;
  readonly host: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** What an operator is told of a request's job that failed, in whole or in parts. */
export interface FailureDetail {
  readonly requestId: string;
  readonly jobId: ExtractionId;
  readonly customer: CustomerNumber;
  /** The oldest first; of many the first ones and the last. */
  readonly entries: readonly FailureEntry[];
  /** All that there were, those that are not told included. */
  readonly count: number;
}

export interface FailureEntry {
  readonly atMs: number;
  readonly reason: FailureReason;
  /** The step's key, which is mostly a URL; '' where the whole job is meant. */
  readonly step: string;
  readonly detail: string;
}
