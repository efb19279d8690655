import type { Brand, CustomerNumber } from '../kernel/brand.ts';
import type {
  DeliveryError,
  DeliveryEvent,
  DeliveryStatus,
  DeliveryTrigger,
  NoticeEvent,
  WebhookRetry,
} from '../contract/vocabulary.ts';
import type { BodyWishes } from './formats/event-formats.ts';
import type { Decision } from '../risk/decision.ts';

export {
  DELIVERY_ERRORS,
  DELIVERY_EVENTS,
  DELIVERY_STATUSES,
  DELIVERY_TRIGGERS,
  type DeliveryError,
  type DeliveryEvent,
  type DeliveryStatus,
  type DeliveryTrigger,
  EXTRACTION_EVENTS,
  NOTICE_EVENTS,
  type NoticeEvent,
  WEBHOOK_FIELDS,
  WEBHOOK_FORMATS,
  WEBHOOK_RETRIES,
  type WebhookRetry,
} from '../contract/vocabulary.ts';

/** Identifies a webhook, `wh_…`. */
export type WebhookId = Brand<string, 'WebhookId'>;
/** Identifies a delivery, `dlv_…`; a receiver sees it as `webhook-id`. */
export type DeliveryId = Brand<string, 'DeliveryId'>;

/** A customer's endpoint for events. Times are Unix milliseconds; the wire has seconds. Source: contract, 10.1. */
export interface Webhook extends BodyWishes {
  readonly id: WebhookId;
  readonly customer: CustomerNumber;
  readonly url: string;
  /** Each at most once; empty only if `events` is not. */
  readonly eventTypes: readonly Decision[];
  /** Further events, each at most once; absent: none. */
  readonly events?: readonly NoticeEvent[] | undefined;
  readonly description: string | null;
  /** Paused by its customer: nothing is enqueued for it, sent to it or counted for its health. */
  readonly disabled: boolean;
  /** Condition in the language of own rules; absent or null: every decision of `eventTypes` is delivered. */
  readonly filter?: string | null | undefined;
  /** Sent with each attempt; absent or null: none. */
  readonly headers?: SealedHeaders | null | undefined;
  /** Absent: `fast`. */
  readonly retry?: WebhookRetry | undefined;
  readonly health: WebhookHealth;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** The fields that its customer may change. */
export type WebhookChange = Partial<
  Pick<
    Webhook,
    'url' | 'eventTypes' | 'events' | 'description' | 'disabled' | 'filter' | 'headers' | 'format' | 'fields' | 'retry'
  >
>;

/** Headers of a customer's own, name in lower case → value. Values are secrets: never logged, never listed. */
export type ExtraHeaders = Readonly<Record<string, string>>;

/** Extra headers as they are stored. */
export interface SealedHeaders {
  /** In lower case, each once. */
  readonly names: readonly string[];
  /** The values in the same order, encrypted. */
  readonly sealed: Uint8Array;
}

/** Results of an endpoint's deliveries; only `webhook-health.ts` changes it. */
export interface WebhookHealth {
  readonly status: 'healthy' | 'unhealthy';
  /** Failed deliveries in a row. */
  readonly consecutiveFailures: number;
  readonly unhealthySinceMs: number | null;
  /** The current or last cool-down, 15 to 60 s; 0 while healthy. */
  readonly cooldownMs: number;
  /** From then on the next matching decision is sent as a half-open trial (probe); null while healthy and while a trial is out. */
  readonly nextProbeAtMs: number | null;
  readonly lastSuccessAtMs: number | null;
  readonly lastFailureAtMs: number | null;
}

/** The signing secrets. Never logged, never listed. */
export interface WebhookSecrets {
  /** `whsec_` and the base64 of 32 bytes. */
  readonly current: string;
  /** Secrets that were replaced by rotations, newest first, at most `PREVIOUS_SECRETS_MAX`. Some may have expired. */
  readonly previous: readonly PreviousSecret[];
}

export interface PreviousSecret {
  readonly secret: string;
  /** It signs together with the current one until then, Unix ms. */
  readonly untilMs: number;
}

/** Choice: more rotations within one grace period are only experiments; each secret costs a delivery about 2 µs and 48 bytes. */
export const PREVIOUS_SECRETS_MAX = 4;

export interface DeliveryAttempt {
  /** At least 1. */
  readonly attempt: number;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly statusCode: number | null;
  /** Null when it succeeded. */
  readonly error: DeliveryError | null;
}

/** One event to be delivered to one endpoint, and its row in the log. */
export interface Delivery {
  readonly id: DeliveryId;
  readonly customer: CustomerNumber;
  /** `wh_…`, or the `ext_…` of the job whose own endpoint it goes to. */
  readonly endpointId: string;
  readonly url: string;
  readonly event: DeliveryEvent;
  readonly requestId: string;
  readonly status: DeliveryStatus;
  readonly trigger: DeliveryTrigger;
  readonly attempts: readonly DeliveryAttempt[];
  /** Set on a delivery that ended without a failed attempt, for example `unhealthy` on a skipped one. */
  readonly error: DeliveryError | null;
  /** Time that counts against its deadline, ms: from the first attempt on, excluding downtime of the service. */
  readonly elapsedMs: number;
  readonly createdAtMs: number;
  readonly completedAtMs: number | null;
  /** Null when there is no further attempt, or when it can be sent at once. */
  readonly nextAttemptAtMs: number | null;
  /** The bytes that are signed and sent on every attempt. */
  readonly body: Buffer;
}
