import { randomBytes } from 'node:crypto';
import type { CustomerNumber } from '../kernel/brand.ts';
import { newId } from '../kernel/ids.ts';
import { tally } from '../kernel/tally.ts';
import { isTestCustomer } from '../kernel/test-customers.ts';
import { type BodyWishes, formatEvent } from '../work/formats/event-formats.ts';
import { formatNotice } from '../work/formats/notice-formats.ts';
import { exampleNotice, isNoticeEvent } from '../work/notice.ts';
import { exampleDecided } from '../work/webhook-event.ts';
import { healthAnew, HEALTHY } from '../work/webhook-health.ts';
import type { Actor, Origin } from '../ports/change-feed.ts';
import type { Decision } from '../risk/decision.ts';
import type {
  Delivery,
  DeliveryId,
  ExtraHeaders,
  NoticeEvent,
  WebhookRetry,
  SealedHeaders,
  Webhook,
  WebhookChange,
  WebhookHealth,
  WebhookId,
} from '../work/webhook.ts';
import { WEBHOOK_TESTS_MAX, WEBHOOK_TESTS_PER_CUSTOMER_MAX } from '../kernel/delivery-limits.ts';
import { fault, type StoreFault, type StoreWrite } from '../state/tables/durable.ts';
import type { Dispatcher } from './dispatcher.ts';
import { newRow } from './due-delivery.ts';
import type { Deliveries } from '../state/tables/delivery-table.ts';

/** The writes to the table of webhooks that the control needs. */
export interface WebhookTable {
  /** Encrypts extra headers for their webhook; null for none. */
  sealHeaders(owner: Pick<Webhook, 'customer' | 'id'>, headers: ExtraHeaders | null): SealedHeaders | null;
  create(webhook: Webhook, secret: string, origin: Origin): Promise<StoreWrite<'created' | 'limit_reached'>>;
  remove(customer: CustomerNumber, id: WebhookId, origin: Origin): Promise<StoreWrite<boolean>>;
  change(
    customer: CustomerNumber,
    id: WebhookId,
    change: WebhookChange & { readonly health?: WebhookHealth },
    origin: Origin,
  ): Promise<StoreWrite<Webhook | null>>;
  rotate(
    customer: CustomerNumber,
    id: WebhookId,
    rotation: { readonly secret: string; readonly previousUntilMs: number | null },
    origin: Origin,
  ): Promise<StoreWrite<Webhook | null>>;
}

export interface ControlParts {
  readonly dispatcher: Dispatcher;
  readonly webhooks: WebhookTable;
  readonly deliveries: Pick<Deliveries, 'find'>;
  /** Finds a delivery of any node of a cluster; by default those of this node. */
  readonly findAnywhere?: (customer: CustomerNumber, id: DeliveryId) => Promise<Delivery | null>;
  nowMs(): number;
}

/** Executes a customer's operations on its webhooks that affect the dispatcher. Outcomes are data; faults come only from the store. */
export class Control {
  readonly #parts: ControlParts;
  /** Tests under way: in total, and per customer that has any. */
  #tests = 0;
  readonly #testsOf = new Map<CustomerNumber, number>();

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  async create(
    given: {
      readonly customer: CustomerNumber;
      readonly url: string;
      readonly eventTypes: readonly Decision[];
      readonly events?: readonly NoticeEvent[] | undefined;
      readonly description: string | null;
      readonly filter?: string | null;
      readonly headers?: ExtraHeaders | null | undefined;
      readonly retry?: WebhookRetry | undefined;
    } & BodyWishes,
    by: Actor,
  ): Promise<
    | { readonly kind: 'created'; readonly webhook: Webhook; readonly secret: string }
    | { readonly kind: 'limit_reached' }
    | StoreFault
  > {
    const nowMs = this.#parts.nowMs();
    const id = newId('wh', nowMs) as WebhookId;
    const webhook: Webhook = {
      ...given,
      id,
      headers: this.#parts.webhooks.sealHeaders({ customer: given.customer, id }, given.headers ?? null),
      disabled: false,
      health: HEALTHY,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    };
    const secret = newSecret();
    const made = await this.#parts.webhooks.create(webhook, secret, { by, nowMs });
    if (made.kind === 'fault') return made;
    if (made.value === 'limit_reached') return { kind: 'limit_reached' };
    this.#parts.dispatcher.subscribe(webhook);
    return { kind: 'created', webhook, secret };
  }

  async remove(
    customer: CustomerNumber,
    id: WebhookId,
    by: Actor,
  ): Promise<{ readonly kind: 'removed' } | { readonly kind: 'not_found' } | StoreFault> {
    if (this.#find(customer, id) === null) return { kind: 'not_found' };
    const removed = await this.#parts.webhooks.remove(customer, id, { by, nowMs: this.#parts.nowMs() });
    if (removed.kind === 'fault') return removed;
    const { dispatcher } = this.#parts;
    dispatcher.subscribers.remove(id);
    dispatcher.prefetch.giveUp(id, 'gone', true);
    return { kind: removed.value ? 'removed' : 'not_found' };
  }

  async change(
    customer: CustomerNumber,
    id: WebhookId,
    given: Omit<WebhookChange, 'headers'> & { readonly headers?: ExtraHeaders | null },
    by: Actor,
  ): Promise<{ readonly kind: 'changed'; readonly webhook: Webhook } | { readonly kind: 'not_found' } | StoreFault> {
    const before = this.#find(customer, id);
    if (before === null) return { kind: 'not_found' };
    const { headers, ...rest } = given;
    const { webhooks, dispatcher } = this.#parts;
    const change: WebhookChange = {
      ...rest,
      ...(headers !== undefined && { headers: webhooks.sealHeaders({ customer, id }, headers) }),
    };
    const isMoved = change.url !== undefined && change.url !== before.url;
    const isAnew = isMoved || (change.disabled === true && !before.disabled);
    const health = isAnew ? { health: healthAnew(before.health) } : {};
    const nowMs = this.#parts.nowMs();
    const changed = await webhooks.change(customer, id, { ...change, ...health }, { by, nowMs });
    if (changed.kind === 'fault') return changed;
    const { subscribers, prefetch } = dispatcher;
    const subscriber = subscribers.find(id);
    if (changed.value === null || subscriber === undefined) return { kind: 'not_found' };
    // The health in memory is newer than the store's.
    const webhook = { ...changed.value, health: subscriber.webhook.health, ...health };
    subscribers.replace(webhook);
    if (webhook.disabled) prefetch.giveUp(id, 'disabled', true);
    else if (isMoved || headers !== undefined || change.retry !== undefined) prefetch.changed(id);
    return { kind: 'changed', webhook };
  }

  async rotate(
    customer: CustomerNumber,
    id: WebhookId,
    graceSeconds: number,
    by: Actor,
  ): Promise<
    | { readonly kind: 'rotated'; readonly webhook: Webhook; readonly secret: string }
    | { readonly kind: 'not_found' }
    | StoreFault
  > {
    const nowMs = this.#parts.nowMs();
    const secret = newSecret();
    const previousUntilMs = graceSeconds === 0 ? null : nowMs + graceSeconds * 1_000;
    const rotated = await this.#parts.webhooks.rotate(customer, id, { secret, previousUntilMs }, { by, nowMs });
    if (rotated.kind === 'fault') return rotated;
    const subscriber = this.#parts.dispatcher.subscribers.find(id);
    if (rotated.value === null || subscriber === undefined) return { kind: 'not_found' };
    // The health in memory is newer than the store's.
    subscriber.webhook = { ...rotated.value, health: subscriber.webhook.health };
    this.#parts.dispatcher.prefetch.changed(id);
    return { kind: 'rotated', webhook: subscriber.webhook, secret };
  }

  async test(
    customer: CustomerNumber,
    id: WebhookId,
  ): Promise<
    | { readonly kind: 'done'; readonly delivery: Delivery }
    | { readonly kind: 'not_found' }
    | { readonly kind: 'disabled' }
    | { readonly kind: 'busy' }
    | StoreFault
  > {
    const webhook = this.#find(customer, id);
    const event = webhook?.eventTypes[0] ?? webhook?.events?.[0];
    if (webhook === null || event === undefined) return { kind: 'not_found' };
    if (webhook.disabled) return { kind: 'disabled' };
    // The caller waits for the end of the test, so it is not started while the worker is down.
    const canSend = this.#parts.dispatcher.status.state === 'ok';
    if (!canSend || !this.#hasRoomForTest(customer)) return { kind: 'busy' };
    const createdAtMs = this.#parts.nowMs();
    const requestId = newId('req', createdAtMs);
    const body = Buffer.from(exampleBody(webhook, event, requestId, createdAtMs));
    const deliveryId = newId('dlv', createdAtMs) as DeliveryId;
    const row = newRow({ customer, requestId, event, createdAtMs, body }, deliveryId, webhook, 'test');
    this.#countTest(customer, 1);
    try {
      if (!this.#parts.dispatcher.add(row)) return { kind: 'busy' };
      await this.#parts.dispatcher.ended(deliveryId);
    } finally {
      this.#countTest(customer, -1);
    }
    return { kind: 'done', delivery: this.#parts.deliveries.find(customer, deliveryId) ?? row };
  }

  /** Returns whether there was room. There is none while deliveries are only in the journal: they are not known yet. */
  redeliver(
    customer: CustomerNumber,
    id: WebhookId,
    given: Pick<Delivery, 'requestId' | 'event' | 'body'> & { readonly before: number },
  ): boolean {
    const webhook = this.#find(customer, id);
    if (webhook === null || webhook.disabled || this.#parts.dispatcher.rows.isBehind) return false;
    const { requestId, event, body, before } = given;
    const createdAtMs = this.#parts.nowMs() - before;
    const deliveryId = newId('dlv', createdAtMs) as DeliveryId;
    return this.#parts.dispatcher.add(
      newRow({ customer, requestId, event, createdAtMs, body }, deliveryId, webhook, 'manual'),
    );
  }

  async retry(
    customer: CustomerNumber,
    id: DeliveryId,
  ): Promise<
    | { readonly kind: 'queued'; readonly delivery: Delivery }
    | { readonly kind: 'not_found' }
    | { readonly kind: 'pending' }
    | { readonly kind: 'endpoint_gone' }
    | { readonly kind: 'disabled' }
    | { readonly kind: 'busy' }
    | StoreFault
  > {
    const { dispatcher, deliveries, findAnywhere } = this.#parts;
    const before = deliveries.find(customer, id) ?? (await findAnywhere?.(customer, id)) ?? null;
    if (before === null) return { kind: 'not_found' };
    if (before.status === 'pending') return { kind: 'pending' };
    const webhook = this.#find(customer, before.endpointId);
    if (webhook === null) return { kind: 'endpoint_gone' };
    if (webhook.disabled) return { kind: 'disabled' };
    const createdAtMs = this.#parts.nowMs();
    const row = newRow({ ...before, createdAtMs }, newId('dlv', createdAtMs) as DeliveryId, webhook, 'manual');
    if (!dispatcher.add(row)) return { kind: 'busy' };
    await dispatcher.settled();
    if (deliveries.find(customer, row.id) === null)
      return dispatcher.rows.lastFault ?? fault('store_write_failed', 'the store refuses deliveries');
    return { kind: 'queued', delivery: row };
  }

  #hasRoomForTest(customer: CustomerNumber): boolean {
    const own = this.#testsOf.get(customer) ?? 0;
    return own < WEBHOOK_TESTS_PER_CUSTOMER_MAX && this.#tests < WEBHOOK_TESTS_MAX;
  }

  #countTest(customer: CustomerNumber, change: 1 | -1): void {
    this.#tests += change;
    tally(this.#testsOf, customer, change);
  }

  #find(customer: CustomerNumber, id: string): Webhook | null {
    const webhook = this.#parts.dispatcher.subscribers.find(id)?.webhook;
    return webhook?.customer === customer ? webhook : null;
  }
}

/** The first decision that the webhook subscribes to, or its first further event. */
function exampleBody(webhook: Webhook, event: Decision | NoticeEvent, requestId: string, atMs: number): string {
  const isTest = isTestCustomer(webhook.customer);
  if (!isNoticeEvent(event))
    return formatEvent(exampleDecided(Math.floor(atMs / 1_000), requestId, event, isTest), webhook);
  const sent = { eventId: newId('evt', atMs), requestId, occurredAtMs: atMs, isTest };
  return formatNotice(exampleNotice(event, sent), webhook);
}

/** Source: contract, 10.1. */
function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}
