import { unreachable, type CustomerNumber } from '../kernel/brand.ts';
import { decideRoute, probeSent } from '../work/webhook-health.ts';
import type { Delivery, Webhook } from '../work/webhook.ts';
import { SKIPPED_ROWS_PER_CUSTOMER_SECOND_MAX, SKIPPED_ROWS_PER_SECOND_MAX } from '../kernel/limits.ts';
import { decodeDue, newRow, type Subscriber, type Subscribers } from './due-delivery.ts';

export interface FanOutParts {
  readonly subscribers: Pick<Subscribers, 'find'>;
  /** Real time, Unix ms. */
  nowMs(): number;
  /** Returns whether one more delivery may be pending there. */
  hasRoom(webhook: Webhook): boolean;
  onSkipped(): void;
  onProbe(subscriber: Subscriber): void;
  /** Called for an unreadable entry, which is skipped: otherwise it would be read again forever. */
  onDamaged(error: unknown): void;
}

/** Fan-out: turns the outbox entry of a decision into the rows of its deliveries. */
export class FanOut {
  readonly #parts: FanOutParts;
  #second = 0;
  #skippedInSecond = 0;
  readonly #skippedOf = new Map<CustomerNumber, number>();
  /** Decisions skipped although their webhook is healthy, because too many are pending for it. */
  overflowed = 0;
  /** Skipped decisions without a row. */
  skippedUnrecorded = 0;

  constructor(parts: FanOutParts) {
    this.#parts = parts;
  }

  /** Webhooks that were deleted or disabled since the decision get no row. */
  rowsOf(bytes: Uint8Array): readonly Delivery[] {
    const rows: Delivery[] = [];
    try {
      const entry = decodeDue(bytes);
      for (const { webhookId, deliveryId, trigger } of entry.targets) {
        const subscriber = this.#parts.subscribers.find(webhookId);
        if (subscriber === undefined) continue;
        const route = this.#routeOf(subscriber, trigger === 'probe');
        if (route === 'skip') this.#skip(rows, newRow(entry, deliveryId, subscriber.webhook, 'decision'));
        else rows.push(newRow(entry, deliveryId, subscriber.webhook, route));
      }
    } catch (error) {
      this.#parts.onDamaged(error);
    }
    return rows;
  }

  /** `isProbe`: an older build, whose journal this is, chose the entry as the half-open trial. */
  #routeOf(subscriber: Subscriber, isProbe: boolean): 'decision' | 'probe' | 'skip' {
    const { webhook } = subscriber;
    const route =
      isProbe && webhook.health.status === 'unhealthy' ? 'probe' : decideRoute(webhook.health, this.#parts.nowMs());
    switch (route) {
      case 'deliver':
        if (webhook.disabled || this.#parts.hasRoom(webhook)) return 'decision';
        this.overflowed++;
        return 'skip';
      case 'probe':
        subscriber.webhook = { ...webhook, health: probeSent(webhook.health) };
        this.#parts.onProbe(subscriber);
        return 'probe';
      case 'skip':
        return 'skip';
      default:
        return unreachable(route);
    }
  }

  #skip(rows: Delivery[], row: Delivery): void {
    this.#parts.onSkipped();
    const second = Math.floor(row.createdAtMs / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#skippedInSecond = 0;
      this.#skippedOf.clear();
    }
    const ofCustomer = (this.#skippedOf.get(row.customer) ?? 0) + 1;
    if (ofCustomer > SKIPPED_ROWS_PER_CUSTOMER_SECOND_MAX || this.#skippedInSecond >= SKIPPED_ROWS_PER_SECOND_MAX) {
      this.skippedUnrecorded++;
      return;
    }
    this.#skippedInSecond++;
    this.#skippedOf.set(row.customer, ofCustomer);
    rows.push({ ...row, status: 'skipped', error: 'unhealthy', completedAtMs: row.createdAtMs });
  }
}
