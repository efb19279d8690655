import { unreachable } from '../kernel/brand.ts';
import { applyDelivery, probeLost, type EndedDelivery, type HealthSignal } from '../work/webhook-health.ts';
import type { Webhook, WebhookHealth } from '../work/webhook.ts';
import type { LogLine } from './deliver-messages.ts';
import type { Subscriber, Subscribers } from './due-delivery.ts';

export interface HealthBookParts {
  readonly subscribers: Subscribers;
  readonly log: (line: LogLine) => void;
  nowMs(): number;
  /** Passes the changed health of these webhooks on to where it is written. */
  save(webhooks: readonly Webhook[]): void;
  /** Called when a webhook's pending deliveries are to be skipped. */
  onUnhealthy(webhookId: string): void;
}

/** Choice: time between two messages about mere successes or failures; a change of state is passed on at once. */
const SAVE_MS = 25;

/** Health of every webhook, derived from its deliveries: kept in memory, passed on to the main thread, reported in the log. */
export class HealthBook {
  readonly #parts: HealthBookParts;
  readonly #unsaved = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  warnings = 0;

  constructor(parts: HealthBookParts) {
    this.#parts = parts;
  }

  /** Applies the result of a delivery. */
  apply(subscriber: Subscriber, ended: EndedDelivery): void {
    const { webhook } = subscriber;
    const { health, signals } = applyDelivery(webhook.health, ended, this.#parts.nowMs());
    this.#replace(
      subscriber,
      health,
      signals.some(({ kind }) => kind !== 'warning'),
    );
    for (const signal of signals) this.#tell(webhook, signal);
  }

  /** Discards probes that were in flight when the process ended, except those still pending: see `Prefetch.open`. */
  forgetProbes(): void {
    const nowMs = this.#parts.nowMs();
    for (const subscriber of this.#parts.subscribers.all())
      this.#replace(subscriber, probeLost(subscriber.webhook.health, nowMs), false);
  }

  /** Saves a health that was changed elsewhere, for example because a probe was sent. */
  changed(subscriber: Subscriber): void {
    this.#saveSoon(subscriber, true);
  }

  #replace(subscriber: Subscriber, health: WebhookHealth, atOnce: boolean): void {
    const { webhook } = subscriber;
    if (health === webhook.health) return;
    subscriber.webhook = { ...webhook, health };
    this.#saveSoon(subscriber, atOnce);
  }

  #tell({ id: webhook, customer }: Webhook, signal: HealthSignal): void {
    const { log } = this.#parts;
    switch (signal.kind) {
      case 'warning':
        this.warnings++;
        log(['warn', { webhook, customer, consecutive_failures: signal.consecutiveFailures }, 'webhook is failing']);
        break;
      case 'unhealthy':
        log([
          'warn',
          { webhook, customer, cooldown_ms: signal.cooldownMs },
          'webhook is unhealthy; deliveries are suspended',
        ]);
        this.#parts.onUnhealthy(webhook);
        break;
      case 'probe_failed':
        log(['info', { webhook, customer, cooldown_ms: signal.cooldownMs }, 'webhook failed its probe']);
        break;
      case 'healed':
        log(['info', { webhook, customer }, 'webhook is healthy again']);
        break;
      default:
        unreachable(signal);
    }
  }

  #saveSoon({ webhook }: Subscriber, atOnce: boolean): void {
    this.#unsaved.add(webhook.id);
    if (atOnce) this.save();
    else this.#timer ??= setTimeout(() => this.save(), SAVE_MS);
  }

  /** Passes the changed health records on. */
  save(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const webhooks = [...this.#unsaved].flatMap((id) => this.#parts.subscribers.find(id)?.webhook ?? []);
    this.#unsaved.clear();
    if (webhooks.length > 0) this.#parts.save(webhooks);
  }
}
