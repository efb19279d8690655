import type { CustomerNumber } from '../base/brand.ts';
import type { Decision } from '../core/decision.ts';
import type {
  Delivery,
  DeliveryEvent,
  DeliveryId,
  DeliveryStatus,
  Webhook,
  WebhookChange,
  WebhookId,
  WebhookSecrets,
} from '../core/webhook.ts';
import type { StoreFault } from '../store/durable.ts';

/**
 * The port between the endpoints and the side that keeps webhooks and sends deliveries. What changes something goes through
 * `WebhookControl`, because the sender must hear of it; what only reads goes to the store. All of it is asked by customer, so
 * what belongs to another is `not_found`.
 */
export interface WebhookControl {
  create(webhook: NewWebhook): Promise<CreateOutcome>;
  /** From the answer on no attempt begins; deliveries that were pending end as `skipped`. */
  remove(customer: CustomerNumber, id: WebhookId): Promise<{ readonly kind: 'removed' } | NotFound | StoreFault>;
  /**
   * What is pending goes to a new address; a webhook that is disabled gets nothing from the answer on, and what was pending ends as
   * `skipped`. The secret stays.
   */
  change(customer: CustomerNumber, id: WebhookId, change: WebhookChange): Promise<ChangeOutcome>;
  /**
   * The old secret goes on counting beside the new one for `graceSeconds`, 0 to 604,800, and those before it as long as they were
   * to; at 0 all end at once.
   */
  rotate(customer: CustomerNumber, id: WebhookId, graceSeconds: number): Promise<RotateOutcome>;
  /** One attempt with an example event; settles when it ended, whatever came of it. */
  test(customer: CustomerNumber, id: WebhookId): Promise<TestOutcome>;
  /** A new delivery of the same bytes, stored before this settles. */
  retry(customer: CustomerNumber, id: DeliveryId): Promise<RetryOutcome>;
}

export interface NewWebhook {
  readonly customer: CustomerNumber;
  /** As the customer wrote it: absolute, http or https, without user info and fragment. */
  readonly url: string;
  readonly eventTypes: readonly Decision[];
  readonly description: string | null;
}

interface NotFound {
  readonly kind: 'not_found';
}

/** Nothing is sent to a webhook that is disabled. */
interface Disabled {
  readonly kind: 'disabled';
}

/** As much is under way as may be: the customer may ask again in a second. */
interface Busy {
  readonly kind: 'busy';
}

/** `secret` is the whole text, which is shown this once. */
export type CreateOutcome =
  | { readonly kind: 'created'; readonly webhook: Webhook; readonly secret: string }
  | { readonly kind: 'limit_reached' }
  | StoreFault;

export type ChangeOutcome = { readonly kind: 'changed'; readonly webhook: Webhook } | NotFound | StoreFault;

export type RotateOutcome =
  | { readonly kind: 'rotated'; readonly webhook: Webhook; readonly secret: string }
  | NotFound
  | StoreFault;

export type TestOutcome =
  | { readonly kind: 'done'; readonly delivery: Delivery }
  | NotFound
  | Disabled
  | Busy
  | StoreFault;

export type RetryOutcome =
  | { readonly kind: 'queued'; readonly delivery: Delivery }
  | NotFound
  | { readonly kind: 'pending' }
  /** The delivery is in the log, but what it went to is not there any more. */
  | { readonly kind: 'endpoint_gone' }
  | Disabled
  | Busy
  | StoreFault;

/** What the endpoints read of the table of webhooks. */
export interface WebhookReader {
  find(customer: CustomerNumber, id: WebhookId): Webhook | null;
  /** Newest first, behind `after`. */
  page(
    customer: CustomerNumber,
    query: { readonly after: WebhookId | null; readonly limit: number },
  ): { readonly rows: readonly Webhook[]; readonly next: WebhookId | null };
  /** null where they cannot be read, for example under another master key. */
  secretsOf(webhook: Webhook): WebhookSecrets | null;
}

export interface DeliveryQuery {
  /** The last delivery that was seen; null from the newest on. */
  readonly after: DeliveryId | null;
  readonly limit: number;
  /** A filter each; null for all. */
  readonly webhookId: string | null;
  readonly status: DeliveryStatus | null;
  readonly requestId: string | null;
  readonly event: DeliveryEvent | null;
}

export type DeliveryPageOutcome =
  | { readonly kind: 'page'; readonly rows: readonly Delivery[]; readonly next: DeliveryId | null }
  /** As many pages of the customer are under way as may be. */
  | Busy;

/** What the endpoints read of the log of deliveries. */
export interface DeliveryReader {
  /** Resolves when deliveries of decisions that were answered before this call can be read. */
  settled(): Promise<void>;
  find(customer: CustomerNumber, id: DeliveryId): Delivery | null;
  /** Newest first. `next` is possibly set although the page is not full. */
  page(customer: CustomerNumber, query: DeliveryQuery): Promise<DeliveryPageOutcome>;
}
