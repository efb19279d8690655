import type { CustomerNumber } from '../kernel/brand.ts';
import type { WorkConsumer } from '../ports/work-queue-port.ts';
import type { Delivery, Webhook, WebhookSecrets } from '../work/webhook.ts';
import { DELIVERIES_PENDING_PER_ENDPOINT_MAX } from '../kernel/limits.ts';
import { DeliveryCounts } from '../observe/delivery-counts.ts';
import type { Deliveries } from '../state/delivery-table.ts';
import type { StoreFault } from '../state/durable.ts';
import { AttemptWriter, type Arrived } from './attempt-writer.ts';
import type { DeliverResult, DeliverStats, EngineMetrics, Endpoint, LogLine, WebhookNews } from './deliver-messages.ts';
import type { DeliveryWorker } from './delivery-worker.ts';
import { type Subscriber, Subscribers } from './due-delivery.ts';
import { FanOut } from './fan-out.ts';
import { HealthBook } from './health-book.ts';
import { InFlightWindows } from './in-flight-windows.ts';
import { Intake } from './intake.ts';
import { hasPendingRoom } from './pending-room.ts';
import { Prefetch } from './prefetch.ts';

export interface EngineParts {
  readonly webhooks: {
    loadAll(): readonly Webhook[];
    /** Returns null if the secrets cannot be read. */
    secretsOf(webhook: Webhook): WebhookSecrets | null;
  };
  readonly deliveries: Deliveries;
  readonly queue: WorkConsumer;
  /** Returns the endpoint of an extraction job; null if it is gone, `asked` if it is not known yet. */
  extractionEndpoint(endpointId: string): Endpoint | null | 'asked';
  forgetEndpoint(endpointId: string): void;
  openWorker(
    onResults: (results: readonly DeliverResult[], stats: DeliverStats) => void,
  ): Pick<DeliveryWorker, 'order' | 'stats'>;
  /** Real time, Unix ms. */
  readonly nowMs: () => number;
  readonly after: (ms: number, then: () => void) => void;
  onHealth(webhooks: readonly Webhook[]): void;
  /** Called at the end of a delivery that someone may wait for: of a test or of an extraction. */
  onEnded(deliveryId: string): void;
  /** Called when rows were stored or changed. */
  onProgress(): void;
  onFault(fault: StoreFault): void;
  readonly log: (line: LogLine) => void;
}

/** Choice: rows removed per call of `prune`; 1,000,000 expired ones within an hour. */
const PRUNE_ROWS = 500;

/**
 * The delivery thread's whole state: outbox entries become rows, rows become attempts, results become rows. The only writer of
 * `deliveries/`, and the owner of the health of webhooks.
 */
export class DeliveryEngine {
  readonly subscribers = new Subscribers();
  readonly windows = new InFlightWindows();
  readonly counts = new DeliveryCounts();
  readonly prefetch: Prefetch;
  readonly health: HealthBook;
  readonly fanOut: FanOut;
  readonly intake: Intake;
  readonly #parts: EngineParts;
  readonly #results: AttemptWriter;
  readonly #worker: Pick<DeliveryWorker, 'order' | 'stats'>;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    const { subscribers, windows } = this;
    const { deliveries, webhooks } = parts;
    const nowMs = (): number => parts.nowMs();
    const onFault = (fault: StoreFault): void => parts.onFault(fault);
    const onProbe = (subscriber: Subscriber): void => this.health.changed(subscriber);
    this.#worker = parts.openWorker((results) => this.#arrived(results));
    this.health = new HealthBook({
      subscribers,
      log: parts.log,
      nowMs,
      save: (changed) => parts.onHealth(changed),
      onUnhealthy: (id) => this.prefetch.giveUp(id, 'unhealthy', false),
    });
    this.prefetch = new Prefetch({
      subscribers,
      windows,
      deliveries,
      nowMs,
      send: (order) => this.#worker.order(order),
      secretsOf: (webhook) => webhooks.secretsOf(webhook),
      extractionEndpoint: (id) => parts.extractionEndpoint(id),
      forgetEndpoint: (id) => parts.forgetEndpoint(id),
      onSkipped: (rows) => this.#skippedInStore(rows),
      onFault,
    });
    this.fanOut = new FanOut({
      subscribers,
      nowMs,
      hasRoom: ({ customer, id }) => this.#hasRoom(customer, id),
      onSkipped: () => this.counts.ended('skipped'),
      onProbe,
      onDamaged: (error) =>
        parts.log(['error', { err: error }, 'corrupt journal entry skipped; its deliveries are lost']),
    });
    this.intake = new Intake({
      queue: parts.queue,
      rowsOf: (bytes) => this.fanOut.rowsOf(bytes),
      insert: (rows, upTo) => deliveries.insert(rows, upTo),
      onStored: (rows) => this.#stored(rows),
      onFault,
      onUnread: (error) => parts.log(['error', { err: error }, 'the journal cannot be read; deliveries wait']),
      after: parts.after,
    });
    this.#results = new AttemptWriter({
      apply: (updates) => deliveries.apply(updates),
      onApplied: (arrived) => this.#applied(arrived),
      onFault,
      after: parts.after,
    });
  }

  /** Resumes what the last run left: pending deliveries, and outbox entries that are not stored. */
  start(): void {
    this.subscribers.load(this.#parts.webhooks.loadAll());
    this.health.forgetProbes();
    for (const endpointId of this.#parts.deliveries.endpointsWithPending()) this.prefetch.look(endpointId);
    this.prefetch.open();
    this.intake.wake();
  }

  /** Applies a change that the main thread has stored. */
  changed(news: WebhookNews): void {
    switch (news.kind) {
      case 'subscribed':
        this.subscribers.add(news.webhook);
        break;
      case 'removed':
        this.subscribers.remove(news.id);
        this.prefetch.giveUp(news.id, 'gone', true);
        break;
      case 'changed': {
        const { webhook, isHealthReset, hasNewEndpoint } = news;
        const before = this.subscribers.find(webhook.id)?.webhook;
        const health = isHealthReset ? webhook.health : (before?.health ?? webhook.health);
        this.subscribers.replace({ ...webhook, health });
        if (webhook.disabled) this.prefetch.giveUp(webhook.id, 'disabled', true);
        else if (hasNewEndpoint) this.prefetch.changed(webhook.id);
      }
    }
  }

  /** Stores and sends a delivery that no decision caused. */
  add(row: Delivery): 'stored' | 'no_room' | StoreFault {
    // The thread before this one may have stored it.
    if (this.#parts.deliveries.find(row.customer, row.id) !== null) return 'stored';
    // A test finds out whether an endpoint works again, so only the endpoint's own limit applies to it.
    const hasRoom =
      row.trigger === 'manual'
        ? this.#hasRoom(row.customer, row.endpointId)
        : this.#parts.deliveries.pendingCountOf(row.endpointId) < DELIVERIES_PENDING_PER_ENDPOINT_MAX;
    if (!hasRoom) return 'no_room';
    const written = this.#parts.deliveries.insert([row], 0);
    if (written.kind === 'fault') return written;
    this.#stored([row]);
    return 'stored';
  }

  /** Stops beginning attempts. Those in flight get `graceMs`, and their results arrive before the worker reports that it has stopped. */
  stop(graceMs: number): void {
    this.prefetch.close();
    this.intake.close();
    this.#worker.order({ kind: 'stop', graceMs });
  }

  /** Call when the worker has stopped. */
  close(): void {
    this.#results.close();
    this.health.save();
  }

  /** Removes expired rows, a bounded number per call. */
  prune(): void {
    const pruned = this.#parts.deliveries.prune(this.#parts.nowMs(), PRUNE_ROWS);
    if (pruned.kind === 'fault') this.#parts.onFault(pruned);
  }

  metrics(): EngineMetrics {
    const { deliveries } = this.#parts;
    const { connectionsOpened, connectionsReused, blockedAddresses, attemptsInFlight } = this.#worker.stats();
    return {
      totals: {
        connectionsOpened,
        connectionsReused,
        blockedAddresses,
        warnings: this.health.warnings,
        evicted: deliveries.evicted,
        overflowed: this.fanOut.overflowed,
        skippedUnrecorded: this.fanOut.skippedUnrecorded,
      },
      counts: this.counts.snapshot(),
      attemptsInFlight,
      held: this.windows.held,
      pending: deliveries.pendingCount(),
      oldestPendingMs: deliveries.oldestPendingMs(),
    };
  }

  /** Returns whether one more delivery may be pending: for the endpoint, for its customer, and in total. */
  #hasRoom(customer: CustomerNumber, endpointId: string): boolean {
    const { deliveries } = this.#parts;
    return hasPendingRoom({
      ofEndpoint: deliveries.pendingCountOf(endpointId),
      ofCustomer: deliveries.pendingCountOfCustomer(customer),
      all: deliveries.pendingCount(),
    });
  }

  #stored(rows: readonly Delivery[]): void {
    this.prefetch.offer(rows);
    this.#parts.onProgress();
  }

  #arrived(results: readonly DeliverResult[]): void {
    const arrived: Arrived[] = [];
    for (const result of results) {
      const window = this.windows.find(result.endpointId);
      const delivery = window?.held.get(result.deliveryId);
      if (window === undefined || delivery === undefined) continue;
      if (result.attempt !== null) {
        this.windows.learn(window, result.attempt.error !== null);
        this.counts.attempted(result.attempt.error ?? 'succeeded');
      }
      arrived.push({ result, delivery });
    }
    if (arrived.length > 0) this.#results.add(arrived);
  }

  /** Called when the store has the results: frees their slots in the window and updates the health of their webhooks. */
  #applied(arrived: readonly Arrived[]): void {
    for (const { result, delivery } of arrived) {
      const { outcome, endpointId } = result;
      if (outcome.kind === 'waiting') continue;
      const window = this.windows.find(endpointId);
      if (window !== undefined) this.windows.finish(window, delivery.id);
      if (outcome.kind === 'parked') {
        this.prefetch.park(endpointId, outcome.nextAttemptAtMs);
        continue;
      }
      this.prefetch.finished(endpointId);
      if (outcome.kind !== 'kept') this.#count({ result, delivery });
      const subscriber = this.subscribers.find(endpointId);
      const counts = subscriber !== undefined && !subscriber.webhook.disabled;
      if (counts && (outcome.kind === 'succeeded' || outcome.kind === 'failed'))
        this.health.apply(subscriber, { result: outcome.kind, trigger: delivery.trigger });
      if (isAwaited(delivery.trigger)) this.#parts.onEnded(delivery.id);
    }
    this.prefetch.refillSoon();
    this.#parts.onProgress();
  }

  #count({ result, delivery }: Arrived): void {
    const { outcome, completedAtMs, elapsedMs, endpointId } = result;
    this.counts.ended(outcome.kind);
    // Deliveries of extractions may take hours and do not belong to a decision.
    if (outcome.kind === 'succeeded' && delivery.trigger !== 'extraction')
      this.counts.delivered(Math.max(0, completedAtMs - delivery.createdAtMs) / 1_000);
    if (outcome.kind !== 'failed') return;
    const { id, customer, requestId: request_id, trigger, attempts } = delivery;
    this.#parts.log([
      'warn',
      {
        event: 'delivery_failed',
        delivery: id,
        webhook: endpointId,
        customer,
        request_id,
        trigger,
        attempts,
        error: outcome.error,
        status_code: result.attempt?.statusCode ?? null,
        elapsed_ms: elapsedMs,
      },
      'delivery failed permanently',
    ]);
  }

  #skippedInStore(rows: readonly Delivery[]): void {
    for (const { id, trigger } of rows) {
      this.counts.ended('skipped');
      if (isAwaited(trigger)) this.#parts.onEnded(id);
    }
    this.#parts.onProgress();
  }
}

function isAwaited(trigger: Delivery['trigger']): boolean {
  return trigger === 'test' || trigger === 'extraction';
}
