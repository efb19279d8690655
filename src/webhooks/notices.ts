import { unreachable, type CustomerNumber } from '../kernel/brand.ts';
import { newId } from '../kernel/ids.ts';
import { isTestCustomer } from '../kernel/test-customers.ts';
import type { Change } from '../state/feed/changes.ts';
import { formatNotice } from '../work/formats/notice-formats.ts';
import type { Notice, SentNotice } from '../work/notice.ts';
import { decideRoute, probeSent } from '../work/webhook-health.ts';
import type { Delivery, DeliveryId, Webhook } from '../work/webhook.ts';
import { noticeOfChange } from './change-notices.ts';
import type { Dispatcher } from './dispatcher.ts';
import { newRow, type Subscriber } from './due-delivery.ts';

export interface NoticesParts {
  readonly dispatcher: Pick<Dispatcher, 'subscribers' | 'add' | 'health' | 'counts' | 'rows'>;
  /** Real time, Unix ms. */
  nowMs(): number;
}

/**
 * Delivers what is no decision to the webhooks that subscribe to it, on the node where it happened. Failure direction: a notice is stored
 * after the change that it reports, so a process killed between the two loses the notice and never the change.
 */
export class Notices {
  readonly #parts: NoticesParts;

  constructor(parts: NoticesParts) {
    this.#parts = parts;
  }

  /** Called for a change of this node that was made. */
  changed(change: Change, outcome: unknown): void {
    const found = noticeOfChange(change, outcome);
    if (found !== null) this.send(found.customer, found.notice);
  }

  /** Called when one of the customer's webhooks was suspended. */
  suspended({ id, customer, health }: Webhook): void {
    const fields = { webhook_id: id, consecutive_failures: health.consecutiveFailures };
    this.send(customer, { event: 'webhook.unhealthy', requestId: null, fields });
  }

  send(customer: CustomerNumber, notice: Notice): void {
    const listening = this.#parts.dispatcher.subscribers.listening(customer, notice.event);
    if (listening.length === 0) return;
    const occurredAtMs = this.#parts.nowMs();
    const eventId = newId('evt', occurredAtMs);
    const sent: SentNotice = { ...notice, eventId, occurredAtMs, isTest: isTestCustomer(customer) };
    // The log of deliveries has an id of a request in each row.
    const requestId = notice.requestId ?? newId('req', occurredAtMs);
    for (const subscriber of listening) this.#deliver(subscriber, sent, requestId);
  }

  #deliver(subscriber: Subscriber, notice: SentNotice, requestId: string): void {
    const { webhook } = subscriber;
    const { event, occurredAtMs: createdAtMs } = notice;
    const body = Buffer.from(formatNotice(notice, webhook));
    const due = { customer: webhook.customer, requestId, event, createdAtMs, body };
    const row = newRow(due, newId('dlv', createdAtMs) as DeliveryId, webhook, 'event');
    const route = decideRoute(webhook, createdAtMs);
    switch (route) {
      case 'deliver':
        this.#add(row);
        break;
      case 'probe':
        if (!this.#add({ ...row, trigger: 'probe' })) break;
        subscriber.webhook = { ...webhook, health: probeSent(webhook.health) };
        this.#parts.dispatcher.health.changed(subscriber);
        break;
      case 'skip':
        this.#skip(row);
        break;
      default:
        unreachable(route);
    }
  }

  #add(row: Delivery): boolean {
    const hasRoom = this.#parts.dispatcher.add(row);
    if (!hasRoom) this.#skip(row);
    return hasRoom;
  }

  /** Recorded as decisions are that are skipped, also where too many are pending. */
  #skip(row: Delivery): void {
    const { counts, rows } = this.#parts.dispatcher;
    counts.ended('skipped');
    rows.add([{ ...row, status: 'skipped', error: 'unhealthy', completedAtMs: row.createdAtMs }], 0);
  }
}
