import type { CustomerNumber } from '../base/brand.ts';
import { pack, unpack } from '../base/pack.ts';
import { DECISIONS, type Decision } from '../core/decision.ts';
import type { Delivery, DeliveryId, DeliveryTrigger, Webhook, WebhookId } from '../core/webhook.ts';

/** What a decision owes to its customer's webhooks, as it lies in the journal until its rows are in the store. */
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

/** Fields by position, so a new one goes to the end. */
export function encodeDue({ customer, requestId, event, createdAtMs, body, targets }: DueEntry): Buffer {
  const flat = targets.flatMap(({ webhookId, deliveryId, trigger }) => [webhookId, deliveryId, trigger]);
  return pack([customer, requestId, event, createdAtMs, body, flat]);
}

/** Bytes that `encodeDue` wrote, behind a checksum of the journal's; anything else throws. */
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

/** A new row of the log of deliveries, with nothing done yet. */
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

/** A webhook that is there; `webhook` is its newest state. */
export interface Subscriber {
  webhook: Webhook;
}

/** All webhooks, by id and by what they wait for. Most customers have none, which costs them one look-up a decision. */
export class Subscribers {
  readonly #byId = new Map<string, Subscriber>();
  /** Customer → place in DECISIONS → who waits for it. */
  readonly #byCustomer = new Map<CustomerNumber, readonly (readonly Subscriber[])[]>();

  get size(): number {
    return this.#byId.size;
  }

  /** Undefined and empty both mean nobody. `decision` is a place in DECISIONS. */
  matching(customer: CustomerNumber, decision: number): readonly Subscriber[] | undefined {
    return this.#byCustomer.get(customer)?.[decision];
  }

  find(id: string): Subscriber | undefined {
    return this.#byId.get(id);
  }

  all(): Iterable<Subscriber> {
    return this.#byId.values();
  }

  add(webhook: Webhook): void {
    this.#byId.set(webhook.id, { webhook });
    this.#index(webhook.customer);
  }

  /** As `add` one after the other, which would go through a customer's webhooks again with each. */
  load(webhooks: Iterable<Webhook>): void {
    const groups = new Map<CustomerNumber, Subscriber[]>();
    for (const webhook of webhooks) {
      const subscriber = { webhook };
      this.#byId.set(webhook.id, subscriber);
      const group = groups.get(webhook.customer);
      if (group === undefined) groups.set(webhook.customer, [subscriber]);
      else group.push(subscriber);
    }
    for (const [customer, group] of groups) this.#byCustomer.set(customer, byDecision(group));
  }

  /** Its newest state. */
  replace(webhook: Webhook): void {
    const subscriber = this.#byId.get(webhook.id);
    if (subscriber === undefined) return;
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
    if (group.length === 0) this.#byCustomer.delete(customer);
    else this.#byCustomer.set(customer, byDecision(group));
  }
}

function byDecision(group: readonly Subscriber[]): readonly (readonly Subscriber[])[] {
  const enabled = group.filter(({ webhook }) => !webhook.disabled);
  return DECISIONS.map((decision) => enabled.filter(({ webhook }) => webhook.eventTypes.includes(decision)));
}
