import type { MessagePort } from 'node:worker_threads';
import type {
  DeliveryAttempt,
  DeliveryError,
  DeliveryTrigger,
  ExtraHeaders,
  WebhookRetry,
  WebhookSecrets,
} from '../work/webhook.ts';

/** All messages between the main thread, which stores deliveries, and a deliver worker, which sends them. */

/** Passed to the worker's only, endless task. */
export interface DeliverPost {
  readonly port: MessagePort;
}

/** Data passed to a deliver worker at its start. */
export interface DeliverWorkerData {
  /** CIDRs that may be reached although they are not public. */
  readonly egressAllow: readonly string[];

  readonly attemptsInFlightMax: number;
  /** The worker begins attempts only while it has a lease: see `lease`. */
  readonly needsLease?: boolean;
}

/** An endpoint as a worker needs it. Sent before its first delivery, and again when it changes. */
export interface EndpointMessage {
  readonly endpointId: string;
  readonly url: string;
  readonly secrets: WebhookSecrets;
  /** Sent beside those of the service; absent: none. */
  readonly headers?: ExtraHeaders;
  /** Absent: `fast`. */
  readonly retry?: WebhookRetry;
}

/** A delivery to start or continue. */
export interface DeliverTask {
  readonly deliveryId: string;
  readonly endpointId: string;
  readonly trigger: DeliveryTrigger;
  readonly body: Uint8Array;
  /** Attempts made before this hand-over. */
  readonly attemptsMade: number;
  /** Time that already counts against the deadline, ms. */
  readonly elapsedMs: number;
  /** Earliest time of the next attempt, Unix ms; 0 for immediately. */
  readonly notBeforeMs: number;
}

/** Deliveries of one message, in order. `at` may create the task with each call. */
export interface TaskList {
  readonly length: number;
  at(index: number): DeliverTask | undefined;
}

/** An order as the worker receives it. */
export type WorkerOrder =
  | Exclude<DeliverOrder, { kind: 'deliver' }>
  | { readonly kind: 'deliver'; readonly tasks: TaskList };

export type DeliverOrder =
  | { readonly kind: 'listening'; readonly addresses: readonly { readonly host: string; readonly port: number }[] }
  | { readonly kind: 'endpoint'; readonly endpoint: EndpointMessage }
  /**
   * The endpoint is gone, disabled or unhealthy: its pending deliveries end as `skipped` (except probes, tests and manual ones, unless
   * `all`).
   */
  | { readonly kind: 'skip'; readonly endpointId: string; readonly error: DeliveryError; readonly all: boolean }
  | { readonly kind: 'forget'; readonly endpointId: string }
  | { readonly kind: 'deliver'; readonly tasks: readonly DeliverTask[] }
  /** Attempts may begin until then, Unix ms. Time without a lease does not count against deadlines. */
  | { readonly kind: 'lease'; readonly untilMs: number }
  /** Another node has these deliveries: no attempt of them begins any more, and nothing more is reported. */
  | { readonly kind: 'drop'; readonly deliveryIds: readonly string[] }
  /** Starts no new attempts; those in flight get `graceMs`, then end with `shutdown`. The worker answers `stopped` and its task ends. */
  | { readonly kind: 'stop'; readonly graceMs: number };

/** Result of an attempt, or the end of a delivery without one. */
export interface DeliverResult {
  readonly deliveryId: string;
  readonly endpointId: string;
  /** null if it ended without a further attempt. */
  readonly attempt: DeliveryAttempt | null;
  readonly outcome:
    | { readonly kind: 'waiting'; readonly nextAttemptAtMs: number }
    /** Like `waiting`, but the worker no longer holds it: it must be handed over again when it is due. */
    | { readonly kind: 'parked'; readonly nextAttemptAtMs: number }
    | { readonly kind: 'succeeded' }
    /** `deadline`: the next attempt would have been too late. */
    | { readonly kind: 'failed'; readonly error: DeliveryError }
    | { readonly kind: 'skipped'; readonly error: DeliveryError }
    /** The service stops: the delivery continues after the next start. */
    | { readonly kind: 'kept' };
  readonly elapsedMs: number;
  readonly completedAtMs: number;
}

/** Values for the metrics, since the worker's start. */
export interface DeliverStats {
  readonly connectionsOpened: number;
  readonly connectionsReused: number;
  readonly blockedAddresses: number;
  readonly attemptsInFlight: number;
  /** Deliveries that the worker holds, in flight or waiting. */
  readonly held: number;
}

export type DeliverSignal =
  | { readonly kind: 'ready'; readonly threadId: number }
  | { readonly kind: 'results'; readonly results: readonly DeliverResult[]; readonly stats: DeliverStats }
  | { readonly kind: 'stopped' };
