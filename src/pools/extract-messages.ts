import type { MessagePort } from 'node:worker_threads';
import type { FailureReason, JobNote, OutputOptions } from '../core/extraction.ts';

/** Everything that crosses between the main thread, which keeps jobs, and the extract workers, which fetch and read. */

/** Handed to a worker's one endless task. */
export interface ExtractPost {
  readonly port: MessagePort;
}

/** What an extract worker is started with. */
export interface ExtractWorkerData {
  /** CIDRs that may be reached although they are not public. */
  readonly egressAllow: readonly string[];
  /** Begins with the product token. */
  readonly userAgent: string;
  /** Connector → another base address of its source. */
  readonly bases: Readonly<Record<string, string>>;
}

/** A job as a worker needs it. Sent before its first step, and again when its session changes. */
export interface ExtractJobMessage {
  readonly job: number;
  readonly connector: string;
  readonly operation: string;
  readonly output: OutputOptions;
  /** JSON of the session; null without one. */
  readonly sessionJson: string | null;
  /** Of the addresses that the job's input names; empty without a session. */
  readonly sessionOrigins: readonly string[];
}

export interface ExtractStepMessage {
  readonly lease: number;
  readonly job: number;
  readonly stateJson: string;
  /** Infinity where the job takes all. */
  readonly recordsLeft: number;
  /** Leases of this job whose results came from this worker and are in the store; each is told once. */
  readonly written: readonly number[];
}

export type ExtractOrder =
  | { readonly kind: 'listening'; readonly addresses: readonly { readonly host: string; readonly port: number }[] }
  | { readonly kind: 'job'; readonly job: ExtractJobMessage }
  /** The job is over: its steps are given up, and nobody waits for their results. */
  | { readonly kind: 'forget'; readonly job: number }
  | { readonly kind: 'steps'; readonly steps: readonly ExtractStepMessage[] }
  /** These requests may begin. */
  | { readonly kind: 'permitted'; readonly permits: readonly number[] }
  /** One attempt to send a job's whole result to its destination. `taskJson` is an `UploadTask`; it holds secrets. */
  | { readonly kind: 'upload'; readonly upload: number; readonly taskJson: string }
  | UploadAnswer
  /** No new requests. The worker answers `stopped` and its task ends; steps that were not done are done after the next start. */
  | { readonly kind: 'stop' };

/** To what an upload asked. */
export interface UploadAnswer {
  readonly kind: 'answer';
  readonly upload: number;
  readonly ask: number;
  readonly answer:
    | {
        readonly kind: 'records';
        /** NDJSON each, in memory of its own. */
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

/** What an upload says. */
export type UploadSignal =
  | {
      readonly kind: 'ask';
      readonly upload: number;
      /** The upload's own number for it. */
      readonly ask: number;
      readonly what:
        | {
            readonly kind: 'records';
            readonly fromSeq: number;
            readonly recordsMax: number;
            readonly bytesMax: number;
          }
        /** To be kept, so that no crash leaves what was begun there for ever; null for none any more. */
        | { readonly kind: 'save'; readonly uploadId: string | null };
    }
  /** It has ended. `sentJson` is a `Sent`. */
  | { readonly kind: 'uploaded'; readonly upload: number; readonly sentJson: string };

/** What came of a step. */
export interface ExtractResult {
  readonly kind: 'result';
  readonly lease: number;
  /** A line for each record, its length, and 16 bytes of SHA-256 of its id. */
  readonly ndjson: Uint8Array;
  readonly lineBytes: Uint32Array;
  readonly hashes: Uint8Array;
  readonly next: ExtractNext;
  readonly total: number | null;
  readonly pauseMs: number;
  /** Pages and API calls that succeeded, and what they cost. */
  readonly pages: number;
  readonly credits: number;
  readonly tier: 'basic' | 'standard' | null;
  /** Fetches that failed, lists that could not be read, and records that were dropped. */
  readonly errors: number;
  /** Over the wire. */
  readonly bytes: number;
  /** null: the step was done. What it found beside a failure is kept all the same. */
  readonly failure: ExtractFailure | null;
  /** What the operator is told beside it. */
  readonly notes: readonly Pick<ExtractFailure, 'reason' | 'detail'>[];
  /** Notes for the job that result from this step. */
  readonly jobNotes: readonly JobNote[];
  /** JSON of the `CookieChange`s that the source made to the session while the step ran; null where it made none. */
  readonly sessionJson: string | null;
}

/** As the store wants them: rows of key and state, their lengths, and 16 bytes of SHA-256 of each whole key. */
export interface ExtractNext {
  readonly rows: Uint8Array;
  readonly rowBytes: Uint32Array;
  readonly hashes: Uint8Array;
}

export interface ExtractFailure {
  readonly reason: FailureReason;
  readonly retryable: boolean;
  readonly detail: string;
  /** An unknown rest of a list is lost with the step. */
  readonly losesRest?: boolean;
  /** For how long the source asks to be left alone, where the step may be done after that. */
  readonly waitMs?: number;
}

export type ExtractEvent =
  | ExtractResult
  /** A step wishes to begin a request. `permit` is the worker's own number for it. */
  | { readonly kind: 'permit'; readonly permit: number; readonly lease: number; readonly domain: string }
  /** That request is over, or the wish is withdrawn. */
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
