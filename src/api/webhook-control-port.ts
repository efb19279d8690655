import type { Coverage } from '../ports/decision-history.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { Actor } from '../ports/change-feed.ts';
import type { Decision } from '../risk/decision.ts';
import type { DeliveryPageOutcome, DeliveryQuery } from '../state/tables/deliveries/pages.ts';
import type {
  Delivery,
  DeliveryId,
  ExtraHeaders,
  NoticeEvent,
  Webhook,
  WebhookChange,
  WebhookId,
  WebhookRetry,
  WebhookSecrets,
} from '../work/webhook.ts';
import type { BodyWishes } from '../work/formats/event-formats.ts';
import type { StoreFault } from '../state/tables/durable.ts';

/**
 * The port between the endpoints and the side that stores webhooks and sends deliveries. Changes go through `WebhookControl`, because the
 * sender must react to them; reads go to the store. Every method takes the customer, so data of another customer is `not_found`.
 */
export interface WebhookControl {
  create(webhook: NewWebhook, by: Actor): Promise<CreateWebhookOutcome>;
  /** After this resolves, no attempt begins. Pending deliveries end as `skipped`. */
  remove(
    customer: CustomerNumber,
    id: WebhookId,
    by: Actor,
  ): Promise<{ readonly kind: 'removed' } | NotFound | StoreFault>;
  /**
   * Pending deliveries go to the new URL. A disabled webhook receives nothing after this resolves, and its pending deliveries end as
   * `skipped`. The secret is kept; another host clears the extra headers unless new ones are given.
   */
  change(
    customer: CustomerNumber,
    id: WebhookId,
    change: Omit<WebhookChange, 'headers'> & { readonly headers?: ExtraHeaders | null },
    by: Actor,
  ): Promise<ChangeOutcome>;
  /**
   * The old secret stays valid beside the new one for `graceSeconds`, 0 to 604,800. Older secrets keep their own expiry. With 0 all of
   * them end at once.
   */
  rotate(customer: CustomerNumber, id: WebhookId, graceSeconds: number, by: Actor): Promise<RotateOutcome>;
  /** Makes one attempt with an example event. Settles when the attempt has ended, successful or not. */
  test(customer: CustomerNumber, id: WebhookId): Promise<TestOutcome>;
  /** Creates a manual delivery. Returns whether there was room. */
  redeliver(customer: CustomerNumber, id: WebhookId, given: Redelivery): boolean;
  /** Creates a new delivery of the same bytes, which is stored before this settles. */
  retry(customer: CustomerNumber, id: DeliveryId): Promise<RetryOutcome>;
}

/** A decision to be delivered again. */
export interface Redelivery {
  readonly requestId: string;
  readonly event: Decision;
  readonly body: Buffer;
  /** How many milliseconds before now it is dated, so that many of one moment keep their order. */
  readonly before: number;
}

export interface NewWebhook extends BodyWishes {
  readonly customer: CustomerNumber;
  /** As the customer wrote it: absolute, http or https, without user info and fragment. */
  readonly url: string;
  readonly eventTypes: readonly Decision[];
  readonly events?: readonly NoticeEvent[] | undefined;
  readonly description: string | null;
  readonly filter?: string | null;
  readonly headers?: ExtraHeaders | null | undefined;
  readonly retry?: WebhookRetry | undefined;
}

interface NotFound {
  readonly kind: 'not_found';
}

/** Nothing is sent to a webhook that is disabled. */
interface Disabled {
  readonly kind: 'disabled';
}

/** The limit of concurrent work is reached; the customer may retry in a second. */
interface Busy {
  readonly kind: 'busy';
}

/** `secret` is the complete secret, which is shown only once. */
export type CreateWebhookOutcome =
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
  /** The delivery is in the log, but its endpoint does not exist any more. */
  | { readonly kind: 'endpoint_gone' }
  | Disabled
  | Busy
  | StoreFault;

/** Read access to the table of webhooks. */
export interface WebhookReader {
  find(customer: CustomerNumber, id: WebhookId): Webhook | null;
  /** Returns a page, newest first, that begins after `after`. */
  page(
    customer: CustomerNumber,
    query: { readonly after: WebhookId | null; readonly limit: number },
  ): { readonly rows: readonly Webhook[]; readonly next: WebhookId | null };
  /** Returns null if the secrets cannot be decrypted, for example with another master key. */
  secretsOf(webhook: Webhook): WebhookSecrets | null;
}

/** Read access to the delivery log. */
export interface DeliveryReader {
  /** Resolves when the deliveries of all decisions answered before this call are readable. */
  settled(): Promise<void>;
  /** A promise where other nodes are asked. */
  find(customer: CustomerNumber, id: DeliveryId, coverage: Coverage): Delivery | null | Promise<Delivery | null>;
  /** Returns a page, newest first. `next` may be set although the page is not full. */
  page(customer: CustomerNumber, query: DeliveryQuery, coverage: Coverage): Promise<DeliveryPageOutcome>;
}
