import type { Brand, CustomerNumber } from '../base/brand.ts';
import type { Decision } from './decision.ts';

/** Identifies a webhook, `wh_…`. */
export type WebhookId = Brand<string, 'WebhookId'>;
/** Identifies a delivery, `dlv_…`; a receiver sees it as `webhook-id`. */
export type DeliveryId = Brand<string, 'DeliveryId'>;

/** A customer's endpoint for events. Times are Unix milliseconds; the wire has seconds. Source: open points, section 4. */
export interface Webhook {
  readonly id: WebhookId;
  readonly customer: CustomerNumber;
  readonly url: string;
  /** Not empty, each at most once. */
  readonly eventTypes: readonly Decision[];
  readonly description: string | null;
  /** Paused by its customer: nothing is owed to it, sent to it or counted for its health. */
  readonly disabled: boolean;
  readonly health: WebhookHealth;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** What its customer may change of it. */
export type WebhookChange = Partial<Pick<Webhook, 'url' | 'eventTypes' | 'description' | 'disabled'>>;

/** What deliveries have shown of an endpoint; changed by `webhook-health.ts` alone. */
export interface WebhookHealth {
  readonly status: 'healthy' | 'unhealthy';
  /** Failed deliveries in a row. */
  readonly consecutiveFailures: number;
  readonly unhealthySinceMs: number | null;
  /** The cool-down that runs or ran last, 15 to 60 s; 0 while healthy. */
  readonly cooldownMs: number;
  /** From then on the next matching decision goes out as a probe; null while healthy and while a probe is out. */
  readonly nextProbeAtMs: number | null;
  readonly lastSuccessAtMs: number | null;
  readonly lastFailureAtMs: number | null;
}

/** The texts that sign. Never logged, never listed. */
export interface WebhookSecrets {
  /** `whsec_` and the base64 of 32 bytes. */
  readonly current: string;
  /** Those that rotations replaced, newest first, `PREVIOUS_SECRETS_MAX` at most. Some may count no longer. */
  readonly previous: readonly PreviousSecret[];
}

export interface PreviousSecret {
  readonly secret: string;
  /** It signs beside the current one until then, Unix ms. */
  readonly untilMs: number;
}

/** Choice: who rotates more often within a grace changes for trial's sake; each costs a delivery some 2 µs and 48 bytes. */
export const PREVIOUS_SECRETS_MAX = 4;

export const DELIVERY_STATUSES = ['pending', 'succeeded', 'failed', 'skipped'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

export const DELIVERY_TRIGGERS = ['decision', 'probe', 'test', 'manual', 'extraction'] as const;
export type DeliveryTrigger = (typeof DELIVERY_TRIGGERS)[number];

/** Events of extraction jobs go the same way as decisions do. Source: open points, section 5. */
export const EXTRACTION_EVENTS = ['extraction.records', 'extraction.completed', 'extraction.failed'] as const;
export type DeliveryEvent = Decision | (typeof EXTRACTION_EVENTS)[number];

/** Why an attempt or a delivery did not succeed. Kept by place, so a new one goes to the end. */
export const DELIVERY_ERRORS = [
  'dns_error',
  'blocked_address',
  'connection_refused',
  'connection_reset',
  'connect_timeout',
  'timeout',
  'tls_error',
  'redirect_blocked',
  'response_too_large',
  'http_status',
  'gone',
  'shutdown',
  'unhealthy',
  'disabled',
] as const;
export type DeliveryError = (typeof DELIVERY_ERRORS)[number];

export interface DeliveryAttempt {
  /** 1 and up. */
  readonly attempt: number;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly statusCode: number | null;
  /** null when it succeeded. */
  readonly error: DeliveryError | null;
}

/** One event on its way to one endpoint, and its row in the log. */
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
  /** Set on a delivery that ended without an attempt to blame, for example `unhealthy` on a skipped one. */
  readonly error: DeliveryError | null;
  /** Time that counts against its deadline, ms: from the first attempt on, without the time while the service was down. */
  readonly elapsedMs: number;
  readonly createdAtMs: number;
  readonly completedAtMs: number | null;
  /** null when none is to come or when it can go out at once. */
  readonly nextAttemptAtMs: number | null;
  /** The bytes that are signed and sent on every attempt. */
  readonly body: Buffer;
}
