import type { Webhook } from '../work/webhook.ts';
import type { StoreFault, StoreWrite } from '../state/durable.ts';
import type { Subscribers } from './due-delivery.ts';

export interface HealthWriterParts {
  readonly subscribers: Subscribers;
  /** Writes the health of these webhooks in one transaction. */
  save(webhooks: readonly Webhook[]): Promise<StoreWrite<unknown>>;
  onFault(fault: StoreFault): void;
}

/** Choice: maximum age of the last success or failure in the store; a change of state is written at once. */
const SAVE_MS = 1_000;

/** Health of webhooks on the main thread: a copy of what the delivery thread found, written to the store with a delay. */
export class HealthWriter {
  readonly #parts: HealthWriterParts;
  readonly #unsaved = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #saving: Promise<void> = Promise.resolve();

  constructor(parts: HealthWriterParts) {
    this.#parts = parts;
  }

  get unhealthy(): number {
    let count = 0;
    for (const { webhook } of this.#parts.subscribers.all()) if (webhook.health.status === 'unhealthy') count++;
    return count;
  }

  changed(webhooks: readonly Pick<Webhook, 'id' | 'health'>[]): void {
    let isUrgent = false;
    for (const { id, health } of webhooks) {
      const subscriber = this.#parts.subscribers.find(id);
      if (subscriber === undefined) continue;
      const before = subscriber.webhook.health;
      if (before.status !== health.status || before.nextProbeAtMs !== health.nextProbeAtMs) isUrgent = true;
      subscriber.webhook = { ...subscriber.webhook, health };
      this.#unsaved.add(id);
    }
    if (isUrgent) void this.save();
    else if (this.#unsaved.size > 0) this.#timer ??= setTimeout(() => void this.save(), SAVE_MS);
  }

  /** Writes the changed health records; one write at a time. */
  save(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#saving = this.#saving.then(() => this.#saveNow());
    return this.#saving;
  }

  async #saveNow(): Promise<void> {
    const webhooks = [...this.#unsaved].flatMap((id) => this.#parts.subscribers.find(id)?.webhook ?? []);
    this.#unsaved.clear();
    if (webhooks.length === 0) return;
    const saved = await this.#parts.save(webhooks);
    if (saved.kind === 'ok') return;
    this.#parts.onFault(saved);
    for (const { id } of webhooks) this.#unsaved.add(id);
    this.#timer ??= setTimeout(() => void this.save(), SAVE_MS);
  }
}
