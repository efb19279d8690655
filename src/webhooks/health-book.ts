import { unreachable } from '../kernel/brand.ts';
import {
  applyDelivery,
  type EndedDelivery,
  type HealthSignal,
  mergeHealth,
  probeLost,
} from '../work/webhook-health.ts';
import type { Webhook, WebhookHealth } from '../work/webhook.ts';
import type { Log } from '../observe/log.ts';
import type { StoreFault, StoreWrite } from '../state/tables/durable.ts';
import type { Subscriber, Subscribers } from './due-delivery.ts';

export interface HealthBookParts {
  readonly subscribers: Subscribers;
  readonly log: Log;
  nowMs(): number;
  /** Writes the health of these webhooks in one transaction. */
  save(webhooks: readonly (Webhook & { readonly newFailures: readonly number[] })[]): Promise<StoreWrite<unknown>>;
  /** Called when a webhook's pending deliveries are to be skipped. */
  onUnhealthy(webhookId: string): void;
  /** Called when an unhealthy webhook is healthy again. */
  onHealed(webhookId: string): void;
  onFault(fault: StoreFault): void;
}

/**
 * Choice: maximum time by which the last success or failure in memory may be newer than in the store; a change of state is written at once.
 */
const SAVE_MS = 1_000;
/** Choice: more failures in a row than suspend a webhook. */
const FAILURES_KEPT = 16;

/** Health of every webhook, derived from its deliveries: kept in memory, written with a delay, reported in the log. */
export class HealthBook {
  readonly #parts: HealthBookParts;
  readonly #unsaved = new Set<string>();
  /** Times of the failures since the last success, by webhook: those of all nodes, and those that other nodes do not know. */
  readonly #failures = new Map<string, readonly number[]>();
  readonly #unshared = new Map<string, readonly number[]>();
  #timer: NodeJS.Timeout | null = null;
  #saving: Promise<void> = Promise.resolve();
  warnings = 0;
  /** Called when a webhook becomes unhealthy by the deliveries of this node, or of it and others together. */
  onSuspended: (webhook: Webhook) => void = () => {};

  constructor(parts: HealthBookParts) {
    this.#parts = parts;
  }

  get unhealthy(): number {
    let count = 0;
    for (const { webhook } of this.#parts.subscribers.all()) if (webhook.health.status === 'unhealthy') count++;
    return count;
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
    if (signals.some(({ kind }) => kind === 'unhealthy')) this.onSuspended(subscriber.webhook);
    if (health !== webhook.health) this.#remember(webhook.id, ended.result, health);
  }

  #remember(id: string, result: EndedDelivery['result'], { lastFailureAtMs }: WebhookHealth): void {
    for (const failures of [this.#failures, this.#unshared]) {
      if (result === 'succeeded') failures.delete(id);
      else failures.set(id, [...(failures.get(id) ?? []), lastFailureAtMs ?? 0].slice(-FAILURES_KEPT));
    }
  }

  /** Takes the health that another node of a cluster has saved. */
  follow(subscriber: Subscriber, theirs: WebhookHealth, newFailures: readonly number[]): void {
    const { webhook } = subscriber;
    const own = this.#failures.get(webhook.id) ?? [];
    const health = mergeHealth(webhook.health, theirs, { own, theirs: newFailures });
    const since = [...own, ...newFailures].filter((atMs) => atMs > (health.lastSuccessAtMs ?? 0));
    this.#failures.set(webhook.id, since.slice(-FAILURES_KEPT));
    subscriber.webhook = { ...webhook, health };
    if (webhook.health.status === 'unhealthy' && health.status === 'healthy') this.#parts.onHealed(webhook.id);
    if (webhook.health.status !== 'healthy' || health.status !== 'unhealthy') return;
    this.#parts.onUnhealthy(webhook.id);
    // The sum is in no saved health yet.
    if (theirs.status !== 'healthy') return;
    this.changed(subscriber);
    this.onSuspended(subscriber.webhook);
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
        log.warn({ webhook, customer, consecutive_failures: signal.consecutiveFailures }, 'webhook is failing');
        break;
      case 'unhealthy':
        log.warn(
          { webhook, customer, cooldown_ms: signal.cooldownMs },
          'webhook is unhealthy; deliveries are suspended',
        );
        this.#parts.onUnhealthy(webhook);
        break;
      case 'probe_failed':
        log.info({ webhook, customer, cooldown_ms: signal.cooldownMs }, 'webhook failed its probe');
        break;
      case 'healed':
        log.info({ webhook, customer }, 'webhook is healthy again');
        this.#parts.onHealed(webhook);
        break;
      default:
        unreachable(signal);
    }
  }

  #saveSoon({ webhook }: Subscriber, atOnce: boolean): void {
    this.#unsaved.add(webhook.id);
    if (atOnce) void this.save();
    else this.#timer ??= setTimeout(() => void this.save(), SAVE_MS);
  }

  /** Writes the changed health records; one write at a time. */
  save(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#saving = this.#saving.then(() => this.#saveNow());
    return this.#saving;
  }

  async #saveNow(): Promise<void> {
    const webhooks = [...this.#unsaved].flatMap((id) => {
      const webhook = this.#parts.subscribers.find(id)?.webhook;
      return webhook === undefined ? [] : [{ ...webhook, newFailures: this.#unshared.get(id) ?? [] }];
    });
    this.#unsaved.clear();
    for (const { id } of webhooks) this.#unshared.delete(id);
    if (webhooks.length === 0) return;
    const saved = await this.#parts.save(webhooks);
    if (saved.kind === 'ok') return;
    this.#parts.onFault(saved);
    for (const { id } of webhooks) this.#unsaved.add(id);
    this.#timer ??= setTimeout(() => void this.save(), SAVE_MS);
  }
}
