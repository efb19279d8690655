import type { CustomerNumber } from '../base/brand.ts';
import type { Delivery, DeliveryId, Webhook, WebhookSecrets } from '../core/webhook.ts';
import { ATTEMPTS_IN_FLIGHT_MAX, DELIVERIES_PENDING_PER_ENDPOINT_MAX } from '../limits.ts';
import { DeliveryCounts } from '../observe/deliveries.ts';
import type { Log } from '../observe/log.ts';
import type { DeliverOrder, DeliverResult, DeliverStats, DeliverWorkerData } from '../pools/deliver-messages.ts';
import type { DeliverPool, DeliverPoolEvents } from '../pools/deliver-pool.ts';
import type { AnswerReader } from '../pools/frame.ts';
import { LatePool } from '../pools/late-pool.ts';
import type { LayerStatus } from '../pools/layer-messages.ts';
import type { StoreFault, StoreWrite } from '../store/durable.ts';
import { type DueSource, openBacklog } from './backlog.ts';
import { type Subscriber, Subscribers } from './due.ts';
import { type Endpoint, HandOut } from './hand-out.ts';
import { HealthBook } from './health-book.ts';
import { Intake } from './intake.ts';
import { hasPendingRoom } from './pending-room.ts';
import { ResultWriter, type Arrived } from './result-writer.ts';
import { RowWriter } from './row-writer.ts';
import type { Deliveries } from '../store/deliveries.ts';
import { Windows } from './windows.ts';

export interface DispatcherParts {
  readonly webhooks: {
    loadAll(): readonly Webhook[];
    secretsOf(webhook: Webhook): WebhookSecrets | null;
    healthChanged(webhooks: readonly Webhook[]): Promise<StoreWrite<unknown>>;
  };
  readonly deliveries: Deliveries;
  /** The own endpoint of an extraction job whose delivery is pending; null for any other id. */
  extractionEndpoint(endpointId: string): Endpoint | null;
  readonly journal: DueSource & {
    stageDue(sequence: number, bytes: Uint8Array): boolean;
    /** The rows of all entries up to this one are in the store. */
    dueStored(upToSequence: number): void;
  };
  readonly egressAllow: readonly string[];
  readonly log: Log;
  /** Real time, Unix ms, whatever the service's clock says. */
  nowMs(): number;
  openPool(data: DeliverWorkerData, events: DeliverPoolEvents): Promise<DeliverPool>;
  /** The store failed; `store_stuck` must end the process. */
  onStoreFaults(faults: readonly StoreFault[]): void;
}

export interface ListeningAt {
  readonly host: string;
  readonly port: number;
}

/** Choice: attempts in flight at a stop may go on for so long, well inside the time that a stop has. */
const STOP_GRACE_MS = 2_000;
/** Choice: between two lines of the log. */
const LOST_TOLD_MS = 10_000;

/**
 * The main thread's side of deliveries: from a decision to rows in the store, from there to the worker, and from its results back to
 * the store and to the health of webhooks. The one writer of both tables.
 */
export class Dispatcher {
  readonly subscribers = new Subscribers();
  readonly windows = new Windows();
  readonly counts = new DeliveryCounts();
  readonly handOut: HandOut;
  readonly health: HealthBook;
  readonly rows: RowWriter;
  readonly #parts: DispatcherParts;
  readonly #results: ResultWriter;
  /** Who waits for the end of a delivery. */
  readonly #waiters = new Map<string, () => void>();
  #intake: Intake;
  readonly #pool: LatePool<DeliverPool>;
  /** Where this service listens, which no delivery may reach; nothing is handed out before that is known. */
  #listening: readonly ListeningAt[] | null = null;
  #stopping = false;
  /** Deliveries that nothing had room for. */
  lost = 0;
  #lostToldMs = Number.NEGATIVE_INFINITY;
  /** Of workers that are no more, and of the one that is. */
  #statsBefore = NO_STATS;
  #stats = NO_STATS;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    const { subscribers, windows } = this;
    const { deliveries, webhooks, journal, log } = parts;
    const nowMs = (): number => parts.nowMs();
    const onFault = (fault: StoreFault): void => parts.onStoreFaults([fault]);
    this.health = new HealthBook({
      subscribers,
      log,
      nowMs,
      save: (changed) => webhooks.healthChanged(changed),
      onUnhealthy: (id) => this.handOut.giveUp(id, 'unhealthy', false),
      onFault,
    });
    this.handOut = new HandOut({
      subscribers,
      windows,
      deliveries,
      nowMs,
      send: (order) => this.#send(order),
      secretsOf: (webhook) => webhooks.secretsOf(webhook),
      extractionEndpoint: (id) => parts.extractionEndpoint(id),
      onSkipped: (rows) => this.#skippedInStore(rows),
      onFault,
    });
    const stored = deliveries.storedUpToSequence();
    this.rows = new RowWriter(
      {
        insert: (rows, upTo) => deliveries.insert(rows, upTo),
        onStored: (rows, upTo) => {
          journal.dueStored(upTo);
          if (rows.length > 0) this.#pool.wake();
          this.handOut.offer(rows);
        },
        onFault,
        openBacklog: (after) => {
          const onProbe = (subscriber: Subscriber): void => this.health.changed(subscriber);
          return openBacklog(
            {
              journal,
              subscribers,
              deliveries,
              onProbe,
              onDamaged: (error) =>
                log.error({ err: error }, 'an entry of the journal cannot be read; what it owes is lost'),
            },
            after,
          );
        },
        onBehind: () => log.warn('deliveries are left to the journal until the store has taken those before them'),
        onCaughtUp: (rows) => log.info({ deliveries: rows }, 'deliveries read from the journal'),
        onUnread: (error) => log.error({ err: error }, 'deliveries in the journal cannot be read; it is tried again'),
      },
      stored,
    );
    this.#results = new ResultWriter({ deliveries, onApplied: (arrived) => this.#applied(arrived), onFault });
    this.#intake = this.#intakeFrom(stored);
    this.#pool = new LatePool({
      start: () =>
        parts.openPool({ egressAllow: parts.egressAllow, attemptsInFlightMax: ATTEMPTS_IN_FLIGHT_MAX }, this.#events()),
      onOpened: () => void this.#ready(),
      onFailed: (error) => log.error({ err: error }, 'the deliver worker cannot start; it is tried again'),
    });
  }

  #events(): DeliverPoolEvents {
    return {
      onReady: () => void this.#ready(),
      onResults: (results, stats) => this.#arrived(results, stats),
      onEnded: (error) => this.#ended(error),
    };
  }

  #intakeFrom(sequence: number): Intake {
    const { subscribers, rows } = this;
    return new Intake(
      {
        subscribers,
        nowMs: () => this.#parts.nowMs(),
        stage: (at, bytes) => this.#parts.journal.stageDue(at, bytes),
        take: (given, at) => rows.add(given, at),
        hasRoom: (webhook) => this.#hasRoom(webhook.customer, webhook.id),
        onSkipped: () => this.counts.ended('skipped'),
        onLost: (count) => this.#lost(count),
        onProbe: (subscriber) => this.health.changed(subscriber),
      },
      sequence,
    );
  }

  /** The operator hears of it as often as a person can read it. */
  #lost(count: number): void {
    this.lost += count;
    const nowMs = performance.now();
    if (nowMs - this.#lostToldMs < LOST_TOLD_MS) return;
    this.#lostToldMs = nowMs;
    this.#parts.log.error({ lost: this.lost }, 'deliveries are lost: the journal cannot be written and memory is full');
  }

  /** The port of the decide path. */
  decided(customer: CustomerNumber, occurredAtMs: number, answers: AnswerReader, at: number): void {
    this.#intake.decided(customer, occurredAtMs, answers, at);
  }

  committed(isWritten: boolean): void {
    this.#intake.committed(isWritten);
  }

  /**
   * Takes up what the last run left: what is pending, and entries of the journal that are not in the store yet. The worker starts now
   * where there is a webhook or a delivery, else with the first.
   */
  async start(): Promise<void> {
    const { webhooks, deliveries, journal } = this.#parts;
    const known = webhooks.loadAll();
    this.subscribers.load(known);
    this.health.forgetProbes();
    const pending = deliveries.endpointsWithPending();
    for (const endpointId of pending) this.handOut.look(endpointId);
    const newest = Math.max(deliveries.storedUpToSequence(), journal.dueCommitted);
    this.#intake = this.#intakeFrom(newest);
    this.rows.resume(newest);
    if (known.length > 0 || pending.length > 0) this.#pool.wake();
  }

  /** There is a webhook from now on: the worker is to be up when its first delivery is due. */
  subscribe(webhook: Webhook): void {
    this.subscribers.add(webhook);
    this.#pool.wake();
  }

  /** Where this service listens; empty before it does. */
  get listening(): readonly ListeningAt[] {
    return this.#listening ?? [];
  }

  /** The service listens there: deliveries go out from now on. */
  listens(addresses: readonly ListeningAt[]): Promise<void> {
    this.#listening = addresses;
    return this.#ready();
  }

  /** Whether one more may be pending: of the endpoint, of its customer, and of all. */
  #hasRoom(customer: CustomerNumber, endpointId: string): boolean {
    const { deliveries } = this.#parts;
    const { rows } = this;
    return hasPendingRoom({
      ofEndpoint: this.pendingOf(endpointId),
      ofCustomer: deliveries.pendingCountOfCustomer(customer) + rows.waitingOfCustomer(customer),
      all: deliveries.pendingCount() + rows.waiting,
    });
  }

  /** Deliveries to an endpoint that have not ended. */
  pendingOf(endpointId: string): number {
    return this.#parts.deliveries.pendingCountOf(endpointId) + this.rows.waitingOf(endpointId);
  }

  get status(): LayerStatus {
    const isOk = this.#pool.current?.up ?? !this.#pool.isBroken;
    if (isOk) return { state: 'ok', version: null, detail: '' };
    return { state: 'broken', version: null, detail: 'the deliver worker is not up, and is started again' };
  }

  get workerStats(): DeliverStats {
    return this.#stats;
  }

  /** Since the start, over all workers. */
  total(name: 'connectionsOpened' | 'connectionsReused' | 'blockedAddresses'): number {
    return this.#statsBefore[name] + this.#stats[name];
  }

  get intake(): Pick<Intake, 'skippedUnrecorded' | 'overflowed'> {
    return this.#intake;
  }

  /** The webhook with its newest health. */
  newest(webhook: Webhook): Webhook {
    return this.subscribers.find(webhook.id)?.webhook ?? webhook;
  }

  /** A delivery that no decision owes: it is stored and goes out. Says whether there was room. */
  add(row: Delivery): boolean {
    // A test is what finds out whether an endpoint is well again, so only its own bound holds for it.
    const hasRoom =
      row.trigger === 'manual'
        ? this.#hasRoom(row.customer, row.endpointId)
        : this.pendingOf(row.endpointId) < DELIVERIES_PENDING_PER_ENDPOINT_MAX;
    if (this.#stopping || !hasRoom) return false;
    return this.rows.add([row], 0);
  }

  /**
   * Resolves when deliveries of decisions that were answered before this call can be read; those that were left to the journal follow,
   * and where the store refuses writes it does not wait for them.
   */
  settled(): Promise<void> {
    return this.rows.settled();
  }

  /** Resolves when the delivery has ended or the service stops. */
  ended(deliveryId: string): Promise<void> {
    return new Promise((resolve) => this.#waiters.set(deliveryId, resolve));
  }

  /** A row of the log, also one that was just added. */
  async find(customer: CustomerNumber, id: DeliveryId): Promise<Delivery | null> {
    const { deliveries } = this.#parts;
    const found = deliveries.find(customer, id);
    if (found !== null) return found;
    await this.settled();
    return deliveries.find(customer, id);
  }

  /** Nothing more goes to that endpoint. */
  forget(endpointId: string): void {
    this.handOut.forget(endpointId);
  }

  /** Ends orderly: attempts in flight get a grace, every result is stored. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.handOut.close();
    await this.rows.close();
    await (await this.#pool.closed())?.close(STOP_GRACE_MS);
    await this.#results.close();
    await this.health.save();
    for (const resolve of this.#waiters.values()) resolve();
    this.#waiters.clear();
  }

  #send(order: DeliverOrder): boolean {
    return this.#pool.current?.send(order) ?? false;
  }

  /** Results of a worker that is dead are stored before what it held is read again. */
  async #ready(): Promise<void> {
    await this.#results.drained();
    if (this.#stopping || this.#listening === null || this.#pool.current?.up !== true) return;
    this.#send({ kind: 'listening', addresses: this.#listening });
    this.windows.loseAll();
    this.handOut.open();
  }

  #ended(error: unknown): void {
    this.handOut.close();
    this.#statsBefore = {
      ...NO_STATS,
      connectionsOpened: this.total('connectionsOpened'),
      connectionsReused: this.total('connectionsReused'),
      blockedAddresses: this.total('blockedAddresses'),
    };
    this.#stats = NO_STATS;
    if (!this.#stopping) this.#parts.log.error({ err: error }, 'the deliver worker ended; another takes its place');
  }

  #arrived(results: readonly DeliverResult[], stats: DeliverStats): void {
    this.#stats = stats;
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

  /** The store has them: their places are free, and what they say of their webhooks counts. */
  #applied(arrived: readonly Arrived[]): void {
    for (const { result, delivery } of arrived) {
      const { outcome, endpointId } = result;
      if (outcome.kind === 'waiting') continue;
      const window = this.windows.find(endpointId);
      if (window !== undefined) this.windows.finish(window, delivery.id);
      if (outcome.kind === 'parked') {
        this.handOut.park(endpointId, outcome.nextAttemptAtMs);
        continue;
      }
      this.handOut.finished(endpointId);
      if (outcome.kind !== 'kept') this.#count({ result, delivery });
      const subscriber = this.subscribers.find(endpointId);
      const counts = subscriber !== undefined && !subscriber.webhook.disabled;
      if (counts && (outcome.kind === 'succeeded' || outcome.kind === 'failed'))
        this.health.apply(subscriber, { result: outcome.kind, trigger: delivery.trigger });
      this.#waiters.get(delivery.id)?.();
      this.#waiters.delete(delivery.id);
    }
    this.handOut.refillSoon();
  }

  #count({ result, delivery }: Arrived): void {
    const { outcome, completedAtMs, elapsedMs, endpointId } = result;
    this.counts.ended(outcome.kind);
    // Those of extractions may take hours, and are no decision's.
    if (outcome.kind === 'succeeded' && delivery.trigger !== 'extraction')
      this.counts.delivered(Math.max(0, completedAtMs - delivery.createdAtMs) / 1_000);
    if (outcome.kind !== 'failed') return;
    const { id, customer, requestId: request_id, trigger, attempts } = delivery;
    this.#parts.log.warn(
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
      'a delivery failed for good',
    );
  }

  #skippedInStore(rows: readonly Delivery[]): void {
    for (const { id } of rows) {
      this.counts.ended('skipped');
      this.#waiters.get(id)?.();
      this.#waiters.delete(id);
    }
  }
}

const NO_STATS: DeliverStats = {
  connectionsOpened: 0,
  connectionsReused: 0,
  blockedAddresses: 0,
  attemptsInFlight: 0,
  held: 0,
};
