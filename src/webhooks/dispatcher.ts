import type { CustomerNumber } from '../kernel/brand.ts';
import { filterFaultOf } from '../work/webhook-filter.ts';
import type { Delivery, DeliveryId, ExtraHeaders, Webhook, WebhookSecrets } from '../work/webhook.ts';
import { ATTEMPTS_IN_FLIGHT_MAX, DELIVERIES_PENDING_PER_ENDPOINT_MAX } from '../kernel/delivery-limits.ts';
import { DeliveryCounts } from '../observe/delivery-counts.ts';
import type { Log } from '../observe/log.ts';
import type { DeliverOrder, DeliverResult, DeliverStats, DeliverWorkerData } from './deliver-messages.ts';
import type { DeliverPool, DeliverPoolEvents } from './deliver-pool.ts';
import type { AnswerReader } from '../frames/batch-buffer.ts';
import { LatePool } from '../kernel/late-pool.ts';
import type { AssetStatus } from '../assets/asset-messages.ts';
import type { StoreFault, StoreWrite } from '../state/tables/durable.ts';
import { type DueSource, openBacklog } from './backlog.ts';
import { type Subscriber, Subscribers } from './due-delivery.ts';
import type { PrefetchEndpoint } from './delivery-endpoints.ts';
import { Prefetch } from './prefetch.ts';
import { HealthBook } from './health-book.ts';
import { failsHealth, keptByPatience } from './patience.ts';
import type { DeliveryMirror } from './delivery-mirror.ts';
import { FanOut } from './fan-out.ts';
import { hasPendingRoom } from './pending-room.ts';
import { ResultWriter, resultOf, type ArrivedAttempt, type Result } from './attempt-writer.ts';
import { EarlyDeliveries } from './early-deliveries.ts';
import { RowWriter } from './row-writer.ts';
import type { Deliveries } from '../state/tables/delivery-table.ts';
import { InFlightWindows } from './in-flight-windows.ts';

export interface DispatcherParts {
  readonly webhooks: {
    loadAll(): readonly Webhook[];
    secretsOf(webhook: Webhook): WebhookSecrets | null;
    headersOf(webhook: Webhook): ExtraHeaders | null;
    healthChanged(webhooks: readonly Webhook[]): Promise<StoreWrite<unknown>>;
  };
  readonly deliveries: Deliveries;
  /** The endpoint of an extraction job whose delivery is pending; null for any other id. */
  extractionEndpoint(endpointId: string): PrefetchEndpoint | null;
  readonly journal: DueSource & {
    stageDue(sequence: number, bytes: Uint8Array): boolean;
    /** Marks all entries up to this one as stored. */
    dueStored(upToSequence: number): void;
  };
  readonly egressAllow: readonly string[];
  readonly log: Log;
  /** Real time, Unix ms, independent of the service's clock. */
  nowMs(): number;
  /** Shows pending deliveries to the other nodes of a cluster; null or absent on a single node. */
  readonly mirror?: DeliveryMirror | null;
  openPool(data: DeliverWorkerData, events: DeliverPoolEvents): Promise<DeliverPool>;
  /** The store failed; `store_stuck` must end the process. */
  onStoreFaults(faults: readonly StoreFault[]): void;
}

export interface ListeningAt {
  readonly host: string;
  readonly port: number;
}

/** Choice: how long attempts in flight may continue after a stop; well within the time limit of a stop. */
const STOP_GRACE_MS = 2_000;
/**
 * Choice: how long the rows of decisions wait to be stored, ms: most deliveries end within this time, and are then written once instead of
 * twice. A delivery that a killed process had sent meanwhile is sent again after its next start.
 */
const GATHER_MS = 100;
/**
 * Choice: minimum ms between two messages to the worker with decisions' deliveries, so that hundreds of them a second wake it a few dozen
 * times. One after a pause is handed over at once.
 */
export const HAND_OVER_GAP_MS = 25;
/** Choice: interval between two log lines about lost deliveries. */
const LOST_TOLD_MS = 10_000;

/**
 * The main thread's side of deliveries: writes rows for decisions to the store, hands them to the worker, and applies the worker's results
 * to the store and to the health of webhooks. The only writer of both tables.
 */
export class Dispatcher {
  readonly subscribers = new Subscribers();
  readonly windows = new InFlightWindows();
  readonly counts = new DeliveryCounts();
  readonly prefetch: Prefetch;
  readonly health: HealthBook;
  readonly rows: RowWriter;
  readonly #parts: DispatcherParts;
  readonly #results: ResultWriter;
  readonly #early = new EarlyDeliveries();
  /** Rows that may be handed out before they are stored. */
  #accepted: Delivery[] = [];
  #handedOverMs = Number.NEGATIVE_INFINITY;
  /** Rows of the write under way. */
  #written: readonly Delivery[] = [];
  /** Callers that wait for the end of a delivery, by delivery id. */
  readonly #waiters = new Map<string, () => void>();
  #fanOut: FanOut;
  readonly #pool: LatePool<DeliverPool>;
  /** Addresses on which this service listens; no delivery may reach them. Nothing is handed out before they are known. */
  #listening: readonly ListeningAt[] | null = null;
  #stopping = false;
  /** Lease of the worker in a cluster, Unix ms. */
  #leaseUntilMs = 0;
  /** Deliveries for which there was no room anywhere. */
  lost = 0;
  #lostToldMs = Number.NEGATIVE_INFINITY;
  /** Statistics of earlier workers, and of the current one. */
  #statsBefore = NO_STATS;
  #stats = NO_STATS;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    const { subscribers, windows } = this;
    const { deliveries, webhooks, journal, log } = parts;
    const nowMs = (): number => parts.nowMs();
    const onFault = (fault: StoreFault): void => parts.onStoreFaults([fault]);
    const onProbe = (subscriber: Subscriber): void => this.health.changed(subscriber);
    this.health = new HealthBook({
      subscribers,
      log,
      nowMs,
      save: (changed) => webhooks.healthChanged(changed),
      onUnhealthy: (id) => this.prefetch.giveUp(id, 'unhealthy', false),
      onHealed: (id) => this.prefetch.lookAgain(id),
      onFault,
    });
    this.prefetch = new Prefetch({
      subscribers,
      windows,
      deliveries,
      nowMs,
      send: (order) => this.#send(order),
      webhooks,
      extractionEndpoint: (id) => parts.extractionEndpoint(id),
      onProbe,
      onSkipped: (rows) => this.#skippedInStore(rows),
      onFault,
    });
    this.rows = new RowWriter(
      {
        insert: (rows, upTo) => this.#insert(rows, upTo),
        onStored: (_rows, upTo) => {
          journal.dueStored(upTo);
          this.#stored();
        },
        onFault,
        gatherMs: parts.mirror ? 0 : GATHER_MS,
        openBacklog: (after) =>
          openBacklog(
            {
              journal,
              subscribers,
              deliveries,
              onProbe,
              onDamaged: (error) => log.error({ err: error }, 'corrupt journal entry skipped; its deliveries are lost'),
            },
            after,
          ),
        onBehind: () => log.warn('deliveries deferred to the journal until the store catches up'),
        onCaughtUp: (rows) => log.info({ deliveries: rows }, 'deliveries read from the journal'),
        onUnread: (error) => log.error({ err: error }, 'deferred deliveries cannot be read from the journal; retrying'),
      },
      deliveries.storedUpToSequence(),
    );
    this.#results = new ResultWriter({ deliveries, onApplied: (arrived) => this.#applied(arrived), onFault });
    this.#fanOut = this.#fanOutFrom(deliveries.storedUpToSequence());
    this.#pool = new LatePool({
      start: () =>
        parts.openPool(
          {
            egressAllow: parts.egressAllow,
            attemptsInFlightMax: ATTEMPTS_IN_FLIGHT_MAX,
            needsLease: Boolean(parts.mirror),
          },
          this.#events(),
        ),
      onOpened: () => void this.#ready(),
      onFailed: (error) => log.error({ err: error }, 'the deliver worker cannot start; retrying'),
    });
  }

  #events(): DeliverPoolEvents {
    return {
      onReady: () => void this.#ready(),
      onResults: (results, stats) => this.#arrived(results, stats),
      onEnded: (error) => this.#ended(error),
    };
  }

  #fanOutFrom(sequence: number): FanOut {
    const { subscribers } = this;
    return new FanOut(
      {
        subscribers,
        nowMs: () => this.#parts.nowMs(),
        stage: (at, bytes) => this.#parts.journal.stageDue(at, bytes),
        take: (given, at) => this.#take(given, at),
        hasRoom: (webhook, bodyBytes) => this.#hasRoom(webhook.customer, webhook.id, bodyBytes),
        onSkipped: () => this.counts.ended('skipped'),
        onLost: (count) => this.#lost(count),
        onProbe: (subscriber) => this.health.changed(subscriber),
      },
      sequence,
    );
  }

  /**
   * Accepts rows of a decision. Those in the journal are handed out before they are stored, except in a cluster, where another node must be
   * able to continue a delivery before it is sent.
   */
  #take(rows: readonly Delivery[], sequence: number): boolean {
    const hasRoom = this.rows.add(rows, sequence);
    if (hasRoom && sequence > 0 && !this.#parts.mirror) {
      if (this.#accepted.length === 0) this.#offerSoon();
      this.#accepted.push(...rows);
    }
    return hasRoom;
  }

  #offerSoon(): void {
    const sinceMs = performance.now() - this.#handedOverMs;
    if (sinceMs >= HAND_OVER_GAP_MS) setImmediate(() => this.#offerEarly());
    else setTimeout(() => this.#offerEarly(), HAND_OVER_GAP_MS - sinceMs);
  }

  /** Nothing more is sent early while the store refuses writes: a restart would repeat it all. */
  #offerEarly(): void {
    const rows = this.#accepted;
    if (rows.length === 0) return;
    this.#accepted = [];
    this.#handedOverMs = performance.now();
    if (this.rows.isBehind || this.rows.lastFault !== null) return;
    for (const { id } of this.prefetch.offerEarly(rows)) this.#early.add(id);
  }

  async #insert(rows: readonly Delivery[], storedUpToSequence: number): Promise<StoreWrite<null>> {
    // Later it would be unknown whether they have been handed out and have ended meanwhile.
    this.#offerEarly();
    this.#written = this.#early.begin(rows);
    const done = await this.#parts.deliveries.insert(this.#written, storedUpToSequence);
    if (done.kind === 'fault') this.#early.refused(rows);
    return done;
  }

  #stored(): void {
    const written = this.#written;
    this.#written = [];
    if (written.length > 0) this.#pool.wake();
    const { open, applied, late } = this.#early.stored(written);
    this.#results.add(late);
    if (applied.length > 0) this.#applied(applied);
    this.offer(open);
  }

  /** Limits the log line to a rate that an operator can read. */
  #lost(count: number): void {
    this.lost += count;
    const nowMs = performance.now();
    if (nowMs - this.#lostToldMs < LOST_TOLD_MS) return;
    this.#lostToldMs = nowMs;
    this.#parts.log.error({ lost: this.lost }, 'deliveries are lost: the journal cannot be written and memory is full');
  }

  /** Implements the port of the decide path. */
  decided(customer: CustomerNumber, occurredAtMs: number, answers: AnswerReader, at: number): void {
    this.#fanOut.decided(customer, occurredAtMs, answers, at);
  }

  committed(isWritten: boolean): void {
    this.#fanOut.committed(isWritten);
  }

  /**
   * Resumes what the last run left: pending deliveries, and journal entries that are not in the store yet. Starts the worker now if there
   * is a webhook or a delivery, else with the first one.
   */
  async start(): Promise<void> {
    const { webhooks, deliveries, journal } = this.#parts;
    const known = webhooks.loadAll();
    this.subscribers.load(known);
    this.#reportFilters();
    this.health.forgetProbes();
    const pending = deliveries.endpointsWithPending();
    for (const endpointId of pending) this.prefetch.look(endpointId);
    const newest = Math.max(deliveries.storedUpToSequence(), journal.dueCommitted);
    this.#fanOut = this.#fanOutFrom(newest);
    this.rows.resume(newest);
    if (known.length > 0 || pending.length > 0) this.#pool.wake();
  }

  /** A filter that an upgrade made unreadable must not hide decisions: without it all are delivered. */
  #reportFilters(): void {
    for (const { webhook, filter } of this.subscribers.all()) {
      if (filter !== null || (webhook.filter ?? null) === null) continue;
      const { id, customer } = webhook;
      const reason = filterFaultOf(webhook.filter);
      this.#parts.log.error({ webhook: id, customer, reason }, "a webhook's filter cannot be read; it is ignored");
    }
  }

  /** Adds a webhook and starts the worker, so that it is up when the first delivery is due. */
  subscribe(webhook: Webhook): void {
    this.subscribers.add(webhook);
    this.#pool.wake();
  }

  /** Addresses on which this service listens; empty before it does. */
  get listening(): readonly ListeningAt[] {
    return this.#listening ?? [];
  }

  /** Sets the addresses on which the service listens, and starts handing out deliveries. */
  listens(addresses: readonly ListeningAt[]): Promise<void> {
    this.#listening = addresses;
    return this.#ready();
  }

  /** Returns whether one more delivery may be pending: for the endpoint, for its customer, and in total. */
  #hasRoom(customer: CustomerNumber, endpointId: string, bodyBytes: number): boolean {
    const { deliveries } = this.#parts;
    const { rows } = this;
    return hasPendingRoom({
      bodyBytes,
      ofEndpoint: this.pendingOf(endpointId),
      ofCustomer: deliveries.pendingCountOfCustomer(customer) + rows.waitingOfCustomer(customer),
      all: deliveries.pendingCount() + rows.waiting,
    });
  }

  /** Returns the number of unfinished deliveries to an endpoint. */
  pendingOf(endpointId: string): number {
    return this.#parts.deliveries.pendingCountOf(endpointId) + this.rows.waitingOf(endpointId);
  }

  get status(): AssetStatus {
    const isOk = this.#pool.current?.up ?? !this.#pool.isBroken;
    if (isOk) return { state: 'ok', version: null, detail: '' };
    return { state: 'broken', version: null, detail: 'the deliver worker is down and is being restarted' };
  }

  get workerStats(): DeliverStats {
    return this.#stats;
  }

  /** Returns a total since the start, over all workers. */
  total(name: 'connectionsOpened' | 'connectionsReused' | 'blockedAddresses'): number {
    return this.#statsBefore[name] + this.#stats[name];
  }

  get fanOut(): Pick<FanOut, 'skippedUnrecorded' | 'overflowed' | 'filtered'> {
    return this.#fanOut;
  }

  /** Returns the webhook with its latest health. */
  newest(webhook: Webhook): Webhook {
    return this.subscribers.find(webhook.id)?.webhook ?? webhook;
  }

  /** Stores and sends a delivery that no decision caused. Returns whether there was room. */
  add(row: Delivery): boolean {
    // A test finds out whether an endpoint works again, so only the endpoint's own limit applies to it.
    const hasRoom =
      row.trigger === 'manual'
        ? this.#hasRoom(row.customer, row.endpointId, row.body.length)
        : this.pendingOf(row.endpointId) < DELIVERIES_PENDING_PER_ENDPOINT_MAX;
    if (this.#stopping || !hasRoom) return false;
    return this.rows.add([row], 0);
  }

  /**
   * Resolves when deliveries of all decisions answered before this call can be read. Deliveries deferred to the journal follow later; if
   * the store refuses writes, this does not wait for them.
   */
  settled(): Promise<void> {
    return this.rows.settled();
  }

  /** Resolves when the delivery has ended or the service stops. */
  ended(deliveryId: string): Promise<void> {
    return new Promise((resolve) => this.#waiters.set(deliveryId, resolve));
  }

  /** Finds a row of the log, including one that was just added. */
  async find(customer: CustomerNumber, id: DeliveryId): Promise<Delivery | null> {
    const { deliveries } = this.#parts;
    const found = deliveries.find(customer, id);
    if (found !== null) return found;
    await this.settled();
    return deliveries.find(customer, id);
  }

  /** Stops all deliveries to that endpoint. */
  forget(endpointId: string): void {
    this.prefetch.forget(endpointId);
  }

  /** Shuts down gracefully: attempts in flight get a grace period, every result is stored. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.prefetch.close();
    await this.rows.close();
    await (await this.#pool.closed())?.close(STOP_GRACE_MS);
    await this.#results.close();
    await this.health.save();
    for (const resolve of this.#waiters.values()) resolve();
    this.#waiters.clear();
  }

  /** Hands out rows that were just stored, as soon as other nodes could continue them. */
  offer(rows: readonly Delivery[]): void {
    const { mirror } = this.#parts;
    const pending = mirror ? rows.filter(({ status }) => status === 'pending') : [];
    if (!mirror || pending.length === 0) this.prefetch.offer(rows);
    else void mirror.stored(pending).then(() => this.prefetch.offer(rows));
  }

  /** Stores deliveries of another node that is gone, without handing them out. */
  adopt(rows: readonly Delivery[]): Promise<StoreWrite<null>> {
    this.#pool.wake();
    return this.#parts.deliveries.insert(rows, 0);
  }

  /** Lets the worker begin attempts until then, Unix ms. */
  lease(untilMs: number): void {
    this.#leaseUntilMs = untilMs;
    this.#send({ kind: 'lease', untilMs });
  }

  /** Removes pending deliveries that another node has taken over; attempts in flight end, and none follows. */
  async drop(rows: readonly Pick<Delivery, 'customer' | 'id' | 'endpointId'>[]): Promise<StoreWrite<null>> {
    this.#send({ kind: 'drop', deliveryIds: rows.map(({ id }) => id) });
    const dropped = await this.#parts.deliveries.removePending(rows);
    for (const { id, endpointId } of rows) {
      const window = this.windows.find(endpointId);
      if (window !== undefined) this.windows.finish(window, id);
    }
    return dropped;
  }

  #send(order: DeliverOrder): boolean {
    return this.#pool.current?.send(order) ?? false;
  }

  /** Stores the results of a dead worker before the deliveries it held are read again. */
  async #ready(): Promise<void> {
    await this.#results.drained();
    if (this.#stopping || this.#listening === null || this.#pool.current?.up !== true) return;
    this.#send({ kind: 'listening', addresses: this.#listening });
    if (this.#leaseUntilMs > 0) this.lease(this.#leaseUntilMs);
    this.windows.loseAll();
    this.prefetch.open();
  }

  #ended(error: unknown): void {
    this.prefetch.close();
    this.#statsBefore = {
      ...NO_STATS,
      connectionsOpened: this.total('connectionsOpened'),
      connectionsReused: this.total('connectionsReused'),
      blockedAddresses: this.total('blockedAddresses'),
    };
    this.#stats = NO_STATS;
    if (!this.#stopping) this.#parts.log.error({ err: error }, 'the deliver worker ended; restarting it');
  }

  #arrived(results: readonly DeliverResult[], stats: DeliverStats): void {
    this.#stats = stats;
    const toStore: Result[] = [];
    for (const sent of results) {
      const window = this.windows.find(sent.endpointId);
      const delivery = window?.held.get(sent.deliveryId);
      if (window === undefined || delivery === undefined) continue;
      const isPatient = this.subscribers.find(sent.endpointId)?.webhook.retry === 'patient';
      const result = isPatient ? keptByPatience(sent, delivery, this.prefetch.later.isFull(sent.endpointId)) : sent;
      if (sent.attempt !== null) {
        this.windows.learn(window, sent.attempt.error !== null);
        this.counts.attempted(sent.attempt.error ?? 'succeeded');
      }
      const arrived = { result, delivery };
      const kept = this.#early.keep(arrived);
      if (kept === 'stored') toStore.push(resultOf(arrived));
      // Its row will be stored as ended, so nothing can hand it out again.
      else if (kept === 'unwritten' && result.outcome.kind !== 'waiting') this.windows.finish(window, delivery.id);
    }
    this.#results.add(toStore);
  }

  /** Called when the store has the results: frees their slots in the window and updates the health of their webhooks. */
  #applied(arrived: readonly ArrivedAttempt[]): void {
    this.#show(arrived);
    for (const { result, delivery } of arrived) {
      const { outcome, endpointId } = result;
      if (outcome.kind === 'waiting') continue;
      const window = this.windows.find(endpointId);
      if (window !== undefined) this.windows.finish(window, delivery.id);
      const subscriber = this.subscribers.find(endpointId);
      const counts = subscriber !== undefined && !subscriber.webhook.disabled;
      if (outcome.kind === 'parked') {
        if (counts && failsHealth(result, delivery))
          this.health.apply(subscriber, { result: 'failed', trigger: delivery.trigger });
        this.prefetch.park(endpointId, delivery.id, outcome.nextAttemptAtMs);
        continue;
      }
      this.prefetch.finished(endpointId);
      if (outcome.kind !== 'kept') this.#count({ result, delivery });
      if (counts && (outcome.kind === 'succeeded' || outcome.kind === 'failed'))
        this.health.apply(subscriber, { result: outcome.kind, trigger: delivery.trigger });
      this.#waiters.get(delivery.id)?.();
      this.#waiters.delete(delivery.id);
    }
    this.prefetch.refillSoon();
  }

  /** Shows the other nodes of a cluster what became of the deliveries. */
  #show(arrived: readonly ArrivedAttempt[]): void {
    const { mirror, deliveries } = this.#parts;
    if (!mirror) return;
    const rows = arrived.flatMap(({ delivery: { customer, id } }) => deliveries.find(customer, id) ?? []);
    const pending = rows.filter(({ status }) => status === 'pending');
    if (pending.length > 0) mirror.attempted(pending);
    if (pending.length < rows.length)
      mirror.ended(rows.filter(({ status }) => status !== 'pending').map(({ id }) => id));
  }

  #count({ result, delivery }: ArrivedAttempt): void {
    const { outcome, completedAtMs, elapsedMs, endpointId } = result;
    this.counts.ended(outcome.kind);
    // Deliveries of extractions may take hours and do not belong to a decision.
    if (outcome.kind === 'succeeded' && delivery.trigger !== 'extraction')
      this.counts.seconds.add(Math.max(0, completedAtMs - delivery.createdAtMs) / 1_000);
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
      'delivery failed permanently',
    );
  }

  #skippedInStore(rows: readonly Delivery[]): void {
    this.#parts.mirror?.ended(rows.map(({ id }) => id));
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
