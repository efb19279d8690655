import type { MessagePort } from 'node:worker_threads';
import type { FailureReason, JobNote, OutputOptions } from '../../work/extraction-job.ts';

/** All messages between the extraction thread, which stores jobs, and the extract worker, which fetches and parses. */

/** Passed to the worker's only, endless task. */
export interface ExtractPost {
  readonly port: MessagePort;
}

/** Data passed to the extract worker at its start. */
export interface ExtractWorkerData {
  /** CIDRs that may be reached although they are not public. */
  readonly egressAllow: readonly string[];
  /** Begins with the product token. */
  readonly userAgent: string;
  /** Connector → alternative base address of its source. */
  readonly bases: Readonly<Record<string, string>>;
}

/** A job as the worker needs it. Sent before its first step, and again when its session changes. */
export interface ExtractJobMessage {
  readonly job: number;
  readonly connector: string;
  readonly operation: string;
  /** JSON of the job's input. */
  readonly inputJson: string;
  readonly output: OutputOptions;
  /** JSON of the session; null without one. */
  readonly sessionJson: string | null;
  /** Origins named by the job's input; empty without a session. */
  readonly sessionOrigins: readonly string[];
}

export interface ExtractStepMessage {
  readonly lease: number;
  readonly job: number;
  readonly stateJson: string;
  /** Infinity if the job has no limit. */
  readonly recordsLeft: number;
  /** Leases of this job whose results are stored; each is reported once. */
  readonly written: readonly number[];
}

export type ExtractOrder =
  | { readonly kind: 'listening'; readonly addresses: readonly { readonly host: string; readonly port: number }[] }
  | { readonly kind: 'job'; readonly job: ExtractJobMessage }
  /** The job is over: its steps are cancelled, and nobody waits for their results. */
  | { readonly kind: 'forget'; readonly job: number }
  | { readonly kind: 'steps'; readonly steps: readonly ExtractStepMessage[] }
  /** These requests may start. */
  | { readonly kind: 'permitted'; readonly permits: readonly number[] }
  /** One attempt to send a job's whole result to its destination. `taskJson` is an `UploadTask`; it contains secrets. */
  | { readonly kind: 'upload'; readonly upload: number; readonly taskJson: string }
  | UploadAnswer
  /** No new requests. The worker answers `stopped` and its task ends; unfinished steps are done after the next start. */
  | { readonly kind: 'stop' };

/** Response to an upload's request. */
export interface UploadAnswer {
  readonly kind: 'answer';
  readonly upload: number;
  readonly ask: number;
  readonly answer:
    | {
        readonly kind: 'records';
        /** NDJSON, each in separate memory. */
        readonly chunks: readonly {
          readonly firstSeq: number;
          readonly records: number;
          readonly bytes: Uint8Array;
        }[];
        readonly nextSeq: number | null;
      }
    | { readonly kind: 'saved' }
    | { readonly kind: 'refused'; readonly detail: string };
}

/** Messages of an upload. */
export type UploadSignal =
  | {
      readonly kind: 'ask';
      readonly upload: number;
      /** The upload's own number of the request. */
      readonly ask: number;
      readonly what:
        | {
            readonly kind: 'records';
            readonly fromSeq: number;
            readonly recordsMax: number;
            readonly bytesMax: number;
          }
        /**
         * Saves the id of an upload in progress, so that a crash does not leave it at the destination forever; null when there is none any
         * more.
         */
        | { readonly kind: 'save'; readonly uploadId: string | null };
    }
  /** The upload has ended. `sentJson` is a `Sent`. */
  | { readonly kind: 'uploaded'; readonly upload: number; readonly sentJson: string };

/** Result of a step. */
export interface ExtractResult {
  readonly kind: 'result';
  readonly lease: number;
  /** One line per record, the length of each line, and 16 bytes of SHA-256 of each id. */
  readonly ndjson: Uint8Array;
  readonly lineBytes: Uint32Array;
  readonly hashes: Uint8Array;
  readonly next: ExtractNext;
  readonly total: number | null;
  readonly pauseMs: number;
  /** Pages and API calls that succeeded, and their cost. */
  readonly pages: number;
  readonly credits: number;
  readonly tier: 'basic' | 'standard' | null;
  /** Fetches that failed, lists that could not be read, and records that were dropped. */
  readonly errors: number;
  /** Transferred bytes. */
  readonly bytes: number;
  /** null: the step is done. Records found along with a failure are kept anyway. */
  readonly failure: ExtractFailure | null;
  /** Additional information for the operator. */
  readonly notes: readonly Pick<ExtractFailure, 'reason' | 'detail'>[];
  /** Notes for the job that result from this step. */
  readonly jobNotes: readonly JobNote[];
  /** JSON of the `CookieChange`s that the source made to the session during the step; null if none. */
  readonly sessionJson: string | null;
}

/** In the store's format: rows of key and state, their lengths, and 16 bytes of SHA-256 of each whole key. */
export interface ExtractNext {
  readonly rows: Uint8Array;
  readonly rowBytes: Uint32Array;
  readonly hashes: Uint8Array;
}

export interface ExtractFailure {
  readonly reason: FailureReason;
  readonly retryable: boolean;
  readonly detail: string;
  /** Whether an unknown remainder of a list is lost with the step. */
  readonly losesRest?: boolean;
  /** Pause requested by the source, if the step may be retried after it. */
  readonly waitMs?: number;
}

export type ExtractEvent =
  | ExtractResult
  /** A step requests permission to start a request. `permit` is the worker's own number for it. */
  | { readonly kind: 'permit'; readonly permit: number; readonly lease: number; readonly domain: string }
  /** That request is finished, or its permission is no longer needed. */
  | { readonly kind: 'release'; readonly permit: number }
  | {
      readonly kind: 'report';
      readonly domain: string;
      readonly wish: { readonly retryAfterMs?: number; readonly crawlDelayMs?: number };
    };

export type ExtractSignal =
  | { readonly kind: 'ready' }
  /** In the order in which they happened. */
  | { readonly kind: 'events'; readonly events: readonly ExtractEvent[] }
  | UploadSignal
  /** The thread is not stuck. */
  | { readonly kind: 'alive' }
  | { readonly kind: 'stopped' };
