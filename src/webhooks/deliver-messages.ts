import type { MessagePort } from 'node:worker_threads';
import type { DeliveryCountsSnapshot } from '../observe/delivery-counts.ts';
import type { StoreFault } from '../state/durable.ts';
import type {
  Delivery,
  DeliveryAttempt,
  DeliveryError,
  DeliveryTrigger,
  Webhook,
  WebhookSecrets,
} from '../work/webhook.ts';

/** All messages between the main thread and the delivery thread, and the orders inside that thread. */

/** Passed to the worker's only, endless task. */
export interface DeliverPost {
  readonly port: MessagePort;
}

/** Data passed to a deliver worker at its start. */
export interface DeliverWorkerData {
  /** CIDRs that may be reached although they are not public. */
  readonly egressAllow: readonly string[];

  readonly attemptsInFlightMax: number;
  readonly dataDir: string;
  /** Decrypts the secrets of webhooks. */
  readonly secretsKey: Uint8Array;
  /** One word: the thread increases it while it lives. */
  readonly beat: Int32Array;
}

/** An endpoint as a worker needs it. Sent before its first delivery, and again when it changes. */
export interface EndpointMessage {
  readonly endpointId: string;
  readonly url: string;
  readonly secrets: WebhookSecrets;
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

export type DeliverOrder =
  | { readonly kind: 'endpoint'; readonly endpoint: EndpointMessage }
  /**
   * The endpoint is gone, disabled or unhealthy: its pending deliveries end as `skipped` (except probes, tests and manual ones, unless
   * `all`).
   */
  | { readonly kind: 'skip'; readonly endpointId: string; readonly error: DeliveryError; readonly all: boolean }
  | { readonly kind: 'forget'; readonly endpointId: string }
  | { readonly kind: 'deliver'; readonly tasks: readonly DeliverTask[] }
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

/** Endpoint that receives an extraction job's results. Source: contract, 11.4. */
export interface Endpoint {
  readonly url: string;
  readonly secrets: WebhookSecrets;
}

/** A change of a webhook that the main thread has stored. */
export type WebhookNews =
  | { readonly kind: 'subscribed'; readonly webhook: Webhook }
  | { readonly kind: 'removed'; readonly id: string }
  | {
      readonly kind: 'changed';
      readonly webhook: Webhook;
      /** Otherwise the thread's own health is the newest. */
      readonly isHealthReset: boolean;
      /** Its URL or its secrets changed. */
      readonly hasNewEndpoint: boolean;
    };

/** Message to the delivery thread. */
export type ThreadOrder =
  /** The first one: nothing is sent before the addresses are known on which this service listens. */
  | {
      readonly kind: 'start';
      readonly listening: readonly { readonly host: string; readonly port: number }[];
      readonly journal: JournalPlace;
      readonly end: JournalEnd;
    }
  | { readonly kind: 'journal'; readonly end: JournalEnd }
  | { readonly kind: 'webhook'; readonly news: WebhookNews }
  | { readonly kind: 'add'; readonly number: number; readonly row: Delivery }
  /** Answers `endpoint_wanted`; null if no delivery to it is pending. */
  | { readonly kind: 'endpoint'; readonly endpointId: string; readonly endpoint: Endpoint | null }
  | { readonly kind: 'forget'; readonly endpointId: string }
  | { readonly kind: 'stop'; readonly graceMs: number };

/** How far the journal is written. */
export interface JournalEnd {
  readonly upToSequence: number;
  readonly file: number;
}

/** Where a new reader of the journal begins. */
export interface JournalPlace {
  readonly folder: string;
  readonly firstFile: number;
  readonly acknowledged: number;
}

/** A line for the main thread's log: level, fields, message. */
export type LogLine = readonly ['info' | 'warn' | 'error', Readonly<Record<string, unknown>>, string];

export interface EngineMetrics {
  readonly totals: Readonly<
    Record<
      | 'connectionsOpened'
      | 'connectionsReused'
      | 'blockedAddresses'
      | 'warnings'
      | 'evicted'
      | 'overflowed'
      | 'skippedUnrecorded',
      number
    >
  >;
  readonly counts: DeliveryCountsSnapshot;
  readonly attemptsInFlight: number;
  readonly held: number;
  readonly pending: number;
  readonly oldestPendingMs: number | null;
}

/** Message from the delivery thread. */
export type DeliverSignal =
  | { readonly kind: 'ready'; readonly threadId: number }
  | {
      readonly kind: 'report';
      /** Outbox entries up to this one are stored. */
      readonly storedUpTo: number;
      /** Deliveries of tests and extractions that have ended. */
      readonly ended: readonly string[];
      readonly metrics: EngineMetrics;
    }
  | { readonly kind: 'added'; readonly number: number; readonly outcome: 'stored' | 'no_room' | StoreFault }
  | { readonly kind: 'health'; readonly webhooks: readonly Pick<Webhook, 'id' | 'customer' | 'health'>[] }
  | { readonly kind: 'endpoint_wanted'; readonly endpointId: string }
  | { readonly kind: 'fault'; readonly fault: StoreFault }
  | { readonly kind: 'log'; readonly line: LogLine }
  | { readonly kind: 'stopped' };
