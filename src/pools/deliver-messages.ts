import type { MessagePort } from 'node:worker_threads';
import type { DeliveryAttempt, DeliveryError, DeliveryTrigger, WebhookSecrets } from '../core/webhook.ts';

/** Everything that crosses between the main thread, which keeps deliveries, and a deliver worker, which sends them. */

/** Handed to the worker's one endless task. */
export interface DeliverPost {
  readonly port: MessagePort;
}

/** What a deliver worker is started with. */
export interface DeliverWorkerData {
  /** CIDRs that may be reached although they are not public. */
  readonly egressAllow: readonly string[];

  readonly attemptsInFlightMax: number;
}

/** An endpoint as a worker needs it. Sent before its first delivery, and again when it changes. */
export interface EndpointMessage {
  readonly endpointId: string;
  readonly url: string;
  readonly secrets: WebhookSecrets;
}

/** A delivery to make or to go on with. */
export interface DeliverTask {
  readonly deliveryId: string;
  readonly endpointId: string;
  readonly trigger: DeliveryTrigger;
  readonly body: Uint8Array;
  /** Attempts that were made before this hand-over. */
  readonly attemptsMade: number;
  /** Counts against the deadline already, ms. */
  readonly elapsedMs: number;
  /** Not before this time, Unix ms; 0 for at once. */
  readonly notBeforeMs: number;
}

export type DeliverOrder =
  | { readonly kind: 'listening'; readonly addresses: readonly { readonly host: string; readonly port: number }[] }
  | { readonly kind: 'endpoint'; readonly endpoint: EndpointMessage }
  /** The endpoint is gone, disabled or unhealthy: what it has pending ends as `skipped` (but probes, tests and manual ones, unless `all`). */
  | { readonly kind: 'skip'; readonly endpointId: string; readonly error: DeliveryError; readonly all: boolean }
  | { readonly kind: 'forget'; readonly endpointId: string }
  | { readonly kind: 'deliver'; readonly tasks: readonly DeliverTask[] }
  /** No new attempts; those in flight get `graceMs`, then end with `shutdown`. The worker answers `stopped` and its task ends. */
  | { readonly kind: 'stop'; readonly graceMs: number };

/** What came of an attempt, or of a delivery without one. */
export interface DeliverResult {
  readonly deliveryId: string;
  readonly endpointId: string;
  /** null when it ended without a further attempt. */
  readonly attempt: DeliveryAttempt | null;
  readonly outcome:
    | { readonly kind: 'waiting'; readonly nextAttemptAtMs: number }
    /** As `waiting`, but the worker has let go of it: it is to be handed over again when its time comes. */
    | { readonly kind: 'parked'; readonly nextAttemptAtMs: number }
    | { readonly kind: 'succeeded' }
    /** `deadline`: the next attempt would have come too late. */
    | { readonly kind: 'failed'; readonly error: DeliveryError }
    | { readonly kind: 'skipped'; readonly error: DeliveryError }
    /** The service stops: it goes on after the next start. */
    | { readonly kind: 'kept' };
  readonly elapsedMs: number;
  readonly completedAtMs: number;
}

/** Numbers for the metrics, since the worker's start. */
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
