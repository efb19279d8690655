import type { CustomerNumber } from '../kernel/brand.ts';
import { pack, unpack } from '../kernel/pack.ts';
import { DECISIONS, type Decision } from '../risk/decision.ts';
import { storedFilter, type WebhookFilter } from '../work/webhook-filter.ts';
import type { Delivery, DeliveryId, DeliveryTrigger, Webhook, WebhookId, NoticeEvent } from '../work/webhook.ts';

/** Outbox entry: the webhook deliveries of one decision, kept in the journal until their rows are in the store. */
export interface DueEntry {
  readonly customer: CustomerNumber;
  readonly requestId: string;
  readonly event: Decision;
  readonly createdAtMs: number;
  readonly body: Buffer;
  readonly targets: readonly DueTarget[];
}

export interface DueTarget {
  readonly webhookId: WebhookId;
  readonly deliveryId: DeliveryId;
  readonly trigger: Extract<DeliveryTrigger, 'decision' | 'probe'>;
}

/** Encodes fields by position; append new fields at the end. */
export function encodeDue({ customer, requestId, event, createdAtMs, body, targets }: DueEntry): Buffer {
  const flat = targets.flatMap(({ webhookId, deliveryId, trigger }) => [webhookId, deliveryId, trigger]);
  return pack([customer, requestId, event, createdAtMs, body, flat]);
}

/** Decodes bytes that `encodeDue` wrote and that the journal's checksum protects; throws on anything else. */
export function decodeDue(bytes: Uint8Array): DueEntry {
  const [customer, requestId, event, createdAtMs, body, flat] = unpack(bytes);
  if (!Buffer.isBuffer(body) || !Array.isArray(flat)) throw new Error('a due entry has the wrong form');
  const targets: DueTarget[] = [];
  for (let at = 0; at + 2 < flat.length; at += 3) {
    const [webhookId, deliveryId, trigger] = flat.slice(at, at + 3) as [WebhookId, DeliveryId, DueTarget['trigger']];
    targets.push({ webhookId, deliveryId, trigger });
  }
  return {
    customer: customer as CustomerNumber,
    requestId: requestId as string,
    event: event as Decision,
    createdAtMs: createdAtMs as number,
    body,
    targets,
  };
}

/** Creates a row of the delivery log, without any attempt. */
export function newRow(
  due: Pick<DueEntry, 'customer' | 'requestId' | 'createdAtMs' | 'body'> & Pick<Delivery, 'event'>,
  id: DeliveryId,
  { id: endpointId, url }: Pick<Webhook, 'id' | 'url'>,
  trigger: DeliveryTrigger,
): Delivery {
  const { customer, requestId, createdAtMs, body, event } = due;
  return {
    id,
    customer,
    endpointId,
    url,
    event,
    requestId,
    status: 'pending',
    trigger,
    attempts: [],
    error: null,
    elapsedMs: 0,
    createdAtMs,
    completedAtMs: null,
    nextAttemptAtMs: null,
    body,
  };
}

/** An existing webhook; `webhook` is its latest state. */
export interface Subscriber {
  webhook: Webhook;
  /** Null without a filter, and for one that this build cannot read: then every decision is delivered. */
  filter: WebhookFilter | null;
}

function subscriberOf(webhook: Webhook): Subscriber {
  return { webhook, filter: storedFilter(webhook.filter) };
}

/** All webhooks, by id and by subscribed decision. Most customers have none, which costs them one look-up per decision. */
export class Subscribers {
  readonly #byId = new Map<string, Subscriber>();
  /** Customer → index in DECISIONS → subscribers. */
  readonly #byCustomer = new Map<CustomerNumber, readonly (readonly Subscriber[])[]>();
  /** Enabled webhooks with further events, of customers that have any. */
  readonly #listening = new Map<CustomerNumber, readonly Subscriber[]>();

  get size(): number {
    return this.#byId.size;
  }

  /** Undefined and empty both mean no subscriber. `decision` is an index in DECISIONS. */
  matching(customer: CustomerNumber, decision: number): readonly Subscriber[] | undefined {
    return this.#byCustomer.get(customer)?.[decision];
  }

  /** Returns the enabled webhooks that subscribe to a further event. */
  listening(customer: CustomerNumber, event: NoticeEvent): readonly Subscriber[] {
    const all = this.#listening.get(customer) ?? [];
    return all.filter(({ webhook }) => webhook.events?.includes(event) === true);
  }

  find(id: string): Subscriber | undefined {
    return this.#byId.get(id);
  }

  all(): Iterable<Subscriber> {
    return this.#byId.values();
  }

  add(webhook: Webhook): void {
    this.#byId.set(webhook.id, subscriberOf(webhook));
    this.#index(webhook.customer);
  }

  /** Equivalent to one `add` per webhook, but does not re-index a customer's webhooks for each of them. */
  load(webhooks: Iterable<Webhook>): void {
    const groups = new Map<CustomerNumber, Subscriber[]>();
    for (const webhook of webhooks) {
      const subscriber = subscriberOf(webhook);
      this.#byId.set(webhook.id, subscriber);
      const group = groups.get(webhook.customer);
      if (group === undefined) groups.set(webhook.customer, [subscriber]);
      else group.push(subscriber);
    }
    for (const [customer, group] of groups) this.#set(customer, group);
  }

  /** Replaces the webhook by its latest state. */
  replace(webhook: Webhook): void {
    const subscriber = this.#byId.get(webhook.id);
    if (subscriber === undefined) return;
    if (subscriber.webhook.filter !== webhook.filter) subscriber.filter = storedFilter(webhook.filter);
    subscriber.webhook = webhook;
    this.#index(webhook.customer);
  }

  remove(id: string): void {
    const subscriber = this.#byId.get(id);
    if (subscriber === undefined) return;
    this.#byId.delete(id);
    this.#index(subscriber.webhook.customer);
  }

  #index(customer: CustomerNumber): void {
    const group = [...this.#byId.values()].filter(({ webhook }) => webhook.customer === customer);
    this.#set(customer, group);
  }

  #set(customer: CustomerNumber, group: readonly Subscriber[]): void {
    if (group.length === 0) this.#byCustomer.delete(customer);
    else this.#byCustomer.set(customer, byDecision(group));
    const listening = group.filter(({ webhook: { disabled, events = [] } }) => !disabled && events.length > 0);
    if (listening.length === 0) this.#listening.delete(customer);
    else this.#listening.set(customer, listening);
  }
}

function byDecision(group: readonly Subscriber[]): readonly (readonly Subscriber[])[] {
  const enabled = group.filter(({ webhook }) => !webhook.disabled);
  return DECISIONS.map((decision) => enabled.filter(({ webhook }) => webhook.eventTypes.includes(decision)));
}
