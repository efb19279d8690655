import { unreachable, type CustomerNumber } from '../kernel/brand.ts';
import { ATTEMPTS_IN_FLIGHT_MAX, DELIVERY_THREAD_STUCK_SECONDS } from '../kernel/limits.ts';
import { LatePool } from '../kernel/late-pool.ts';
import type { AssetStatus } from '../assets/asset-messages.ts';
import type { AnswerReader } from '../frames/batch-buffer.ts';
import type { Log } from '../observe/log.ts';
import { DeliveryCounts } from '../observe/delivery-counts.ts';
import type { Deliveries } from '../state/delivery-table.ts';
import { fault, type StoreFault, type StoreWrite } from '../state/durable.ts';
import type { Delivery, DeliveryId, Webhook } from '../work/webhook.ts';
import type {
  DeliverSignal,
  DeliverWorkerData,
  Endpoint,
  EngineMetrics,
  JournalEnd,
  JournalPlace,
  ThreadOrder,
  WebhookNews,
} from './deliver-messages.ts';
import type { DeliverPool, DeliverPoolEvents } from './deliver-pool.ts';
import { Subscribers } from './due-delivery.ts';
import { HealthWriter } from './health-writer.ts';
import { Outbox } from './outbox.ts';

export interface DispatcherParts {
  readonly webhooks: {
    loadAll(): readonly Webhook[];
    healthChanged(webhooks: readonly Webhook[]): Promise<StoreWrite<unknown>>;
  };
  /** Only read here: the delivery thread writes them. */
  readonly deliveries: Pick<Deliveries, 'find' | 'hasPending' | 'storedUpToSequence' | 'resetRead'>;
  /** Returns the endpoint of an extraction job whose delivery is pending; null for any other id. */
  extractionEndpoint(endpointId: string): Endpoint | null;
  readonly journal: {
    stageDue(sequence: number, bytes: Uint8Array): boolean;
    dueStored(upToSequence: number): void;
    readonly dueEnd: JournalEnd;
    dueStart(): JournalPlace;
  };
  readonly worker: Pick<DeliverWorkerData, 'egressAllow' | 'dataDir' | 'secretsKey'>;
  readonly log: Log;
  /** Real time, Unix ms, independent of the service's clock. */
  nowMs(): number;
  openPool(data: DeliverWorkerData, events: DeliverPoolEvents): Promise<DeliverPool>;
  /** The store failed; `store_stuck` must end the process. */
  onStoreFaults(faults: readonly StoreFault[]): void;
}

export interface ListeningAt {
  readonly host: string;
  readonly port: number;
}

export type AddOutcome = 'stored' | 'no_room' | StoreFault;

/** Choice: how long attempts in flight may continue after a stop; well within the time limit of a stop. */
const STOP_GRACE_MS = 2_000;
/** Choice: time between two announcements of new outbox entries, so that one transaction stores those of many batches. */
const ANNOUNCE_MS = 5;
/** Choice: how long a reader waits for rows that the delivery thread has not stored yet, for example while it is restarted. */
const SETTLE_MS_MAX = 5_000;
const BEAT_MS = 1_000;
/** Choice: ends are waited for within milliseconds; an extraction whose wait comes later looks at its row again. */
const UNHEARD_MAX = 1_024;

/**
 * The main thread's side of deliveries: puts outbox entries into the journal, tells the delivery thread about them and about changes of
 * webhooks, and writes the health that it finds. It reads `deliveries/` and never writes it.
 */
export class Dispatcher {
  readonly subscribers = new Subscribers();
  readonly health: HealthWriter;
  readonly #parts: DispatcherParts;
  #outbox: Outbox;
  readonly #pool: LatePool<DeliverPool>;
  readonly #beat = new Int32Array(new SharedArrayBuffer(4));
  /** Addresses on which this service listens; no delivery may reach them. Nothing is sent before they are known. */
  #listening: readonly ListeningAt[] | null = null;
  /** Whether the present thread has got its first order. */
  #isStarted = false;
  #isStopping = false;
  #storedUpTo: number;
  #announceTimer: NodeJS.Timeout | null = null;
  #isAnnounced = true;
  readonly #watch: NodeJS.Timeout;
  /** Deliveries that the thread has not confirmed, by number; sent again to its successor. */
  readonly #adds = new Map<number, { readonly row: Delivery; readonly resolve: (outcome: AddOutcome) => void }>();
  #addNumber = 0;
  /** Callers that wait for the end of a delivery, by delivery id. */
  readonly #waiters = new Map<string, () => void>();
  /** Ends that nobody waited for yet, the oldest first. */
  readonly #unheard = new Set<string>();
  readonly #settling = new Set<{ readonly upTo: number; readonly resolve: () => void }>();
  readonly #endedThreads = new DeliveryCounts();
  #totalsBefore: EngineMetrics['totals'] = NO_METRICS.totals;
  #metrics: EngineMetrics = NO_METRICS;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#storedUpTo = parts.deliveries.storedUpToSequence();
    this.#outbox = this.#outboxFrom(this.#storedUpTo);
    this.health = new HealthWriter({
      subscribers: this.subscribers,
      save: (changed) => parts.webhooks.healthChanged(changed),
      onFault: (fault) => parts.onStoreFaults([fault]),
    });
    const data = { ...parts.worker, attemptsInFlightMax: ATTEMPTS_IN_FLIGHT_MAX, beat: this.#beat };
    this.#pool = new LatePool({
      start: () =>
        parts.openPool(data, {
          onReady: () => void this.#ready(),
          onSignal: (signal) => this.#on(signal),
          onEnded: (error) => this.#ended(error),
        }),
      onOpened: () => void this.#ready(),
      onFailed: (error) => parts.log.error({ err: error }, 'the deliver worker cannot start; retrying'),
    });
    this.#watch = setInterval(this.#beatWatcher(), BEAT_MS).unref();
  }

  #outboxFrom(sequence: number): Outbox {
    return new Outbox(
      {
        subscribers: this.subscribers,
        queue: { publish: (at, bytes) => this.#parts.journal.stageDue(at, bytes) },
        nowMs: () => this.#parts.nowMs(),
        onCommitted: () => this.#announceSoon(),
      },
      sequence,
    );
  }

  /** Implements the port of the decide path. */
  decided(customer: CustomerNumber, occurredAtMs: number, answers: AnswerReader, at: number): void {
    this.#outbox.decided(customer, occurredAtMs, answers, at);
  }

  committed(isWritten: boolean): void {
    this.#outbox.committed(isWritten);
  }

  /**
   * Resumes what the last run left. Starts the thread now if there is a webhook, a pending delivery or an outbox entry that is not stored,
   * else with the first one.
   */
  start(): Promise<void> {
    const { webhooks, deliveries, journal } = this.#parts;
    const known = webhooks.loadAll();
    this.subscribers.load(known);
    const newest = Math.max(this.#storedUpTo, journal.dueEnd.upToSequence);
    this.#outbox = this.#outboxFrom(newest);
    if (known.length > 0 || newest > this.#storedUpTo || deliveries.hasPending()) this.#pool.wake();
    return Promise.resolve();
  }

  /** Applies a change of a webhook that is stored. */
  changed(news: WebhookNews): void {
    if (news.kind === 'subscribed') this.subscribers.add(news.webhook);
    else if (news.kind === 'removed') this.subscribers.remove(news.id);
    else this.subscribers.replace(news.webhook);
    this.#send({ kind: 'webhook', news });
    this.#pool.wake();
  }

  /** Addresses on which this service listens; empty before it does. */
  get listening(): readonly ListeningAt[] {
    return this.#listening ?? [];
  }

  /** Sets the addresses on which the service listens, and starts sending. */
  listens(addresses: readonly ListeningAt[]): Promise<void> {
    this.#listening = addresses;
    return this.#ready();
  }

  get status(): AssetStatus {
    const isOk = this.#pool.current?.up ?? !this.#pool.isBroken;
    if (isOk) return { state: 'ok', version: null, detail: '' };
    return { state: 'broken', version: null, detail: 'the deliver worker is down and is being restarted' };
  }

  /** Returns what the thread last reported, totals over all threads since the start. */
  metrics(): EngineMetrics & { readonly lost: number; readonly outboxEntries: number } {
    const counts = new DeliveryCounts();
    counts.add(this.#endedThreads.snapshot());
    counts.add(this.#metrics.counts);
    const totals = sumOf(this.#totalsBefore, this.#metrics.totals);
    return {
      ...this.#metrics,
      totals: { ...totals, overflowed: totals.overflowed + this.#outbox.overflowed },
      counts: counts.snapshot(),
      lost: this.#outbox.lost,
      outboxEntries: this.#outbox.waiting,
    };
  }

  /** Returns the webhook with its latest health. */
  newest(webhook: Webhook): Webhook {
    return this.subscribers.find(webhook.id)?.webhook ?? webhook;
  }

  /** Stores and sends a delivery that no decision caused. Resolves when it is stored or refused. */
  add(row: Delivery): Promise<AddOutcome> {
    if (this.#isStopping) return Promise.resolve('no_room');
    const number = ++this.#addNumber;
    const added = new Promise<AddOutcome>((resolve) => this.#adds.set(number, { row, resolve }));
    this.#send({ kind: 'add', number, row });
    this.#pool.wake();
    return added;
  }

  /**
   * Resolves when deliveries of all decisions answered before this call can be read. If the thread is down or the store refuses them, it
   * resolves without them: at the next refusal, at the latest after `SETTLE_MS_MAX`.
   */
  settled(): Promise<void> {
    const upTo = this.#outbox.committedUpTo;
    if (this.#storedUpTo >= upTo) return Promise.resolve();
    return new Promise((done) => {
      const timer = setTimeout(() => one.resolve(), SETTLE_MS_MAX);
      const one = {
        upTo,
        resolve: () => {
          clearTimeout(timer);
          this.#settling.delete(one);
          done();
        },
      };
      this.#settling.add(one);
    });
  }

  /** Resolves when the delivery has ended or the service stops; `cancel` if it was refused. */
  ended(deliveryId: string): { readonly done: Promise<void>; cancel(): void } {
    const hasEnded = this.#unheard.delete(deliveryId);
    const done = hasEnded ? Promise.resolve() : new Promise<void>((resolve) => this.#waiters.set(deliveryId, resolve));
    return { done, cancel: () => this.#wakeWaiter(deliveryId) };
  }

  /** Finds a row of the log, including one that was just added. */
  async find(customer: CustomerNumber, id: DeliveryId): Promise<Delivery | null> {
    const { deliveries } = this.#parts;
    deliveries.resetRead();
    const found = deliveries.find(customer, id);
    if (found !== null) return found;
    await this.settled();
    deliveries.resetRead();
    return deliveries.find(customer, id);
  }

  /** Stops all deliveries to the endpoint of an extraction job. */
  forget(endpointId: string): void {
    this.#send({ kind: 'forget', endpointId });
  }

  /** Shuts down gracefully: attempts in flight get a grace period, every result is stored. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#watch);
    if (this.#announceTimer !== null) clearTimeout(this.#announceTimer);
    await (await this.#pool.closed())?.close(STOP_GRACE_MS);
    await this.health.save();
    for (const { resolve } of this.#adds.values()) resolve('no_room');
    this.#adds.clear();
    for (const id of this.#waiters.keys()) this.#wakeWaiter(id);
    for (const { resolve } of this.#settling) resolve();
  }

  #send(order: ThreadOrder): void {
    // Before its first order the thread knows nothing; it reads webhooks from the store then, and `#ready` repeats the rest.
    if (this.#isStarted) this.#pool.current?.send(order);
  }

  async #ready(): Promise<void> {
    // The thread reads the health of its predecessor from the store.
    await this.health.save();
    if (this.#isStopping || this.#isStarted || this.#listening === null || this.#pool.current?.up !== true) return;
    this.#isStarted = true;
    const { journal } = this.#parts;
    this.#send({ kind: 'start', listening: this.#listening, journal: journal.dueStart(), end: journal.dueEnd });
    for (const [number, { row }] of this.#adds) this.#send({ kind: 'add', number, row });
  }

  #ended(error: unknown): void {
    this.#isStarted = false;
    this.#endedThreads.add(this.#metrics.counts);
    this.#totalsBefore = sumOf(this.#totalsBefore, this.#metrics.totals);
    this.#metrics = {
      ...this.#metrics,
      totals: NO_METRICS.totals,
      counts: NO_METRICS.counts,
      attemptsInFlight: 0,
      held: 0,
    };
    if (!this.#isStopping) this.#parts.log.error({ err: error }, 'the deliver worker ended; restarting it');
  }

  #announceSoon(): void {
    this.#isAnnounced = false;
    this.#pool.wake();
    if (this.#announceTimer === null) this.#announce();
  }

  #announce(): void {
    this.#announceTimer = null;
    if (this.#isAnnounced || this.#isStopping) return;
    this.#isAnnounced = true;
    this.#send({ kind: 'journal', end: this.#parts.journal.dueEnd });
    this.#announceTimer = setTimeout(() => this.#announce(), ANNOUNCE_MS);
  }

  #on(signal: Exclude<DeliverSignal, { readonly kind: 'ready' | 'stopped' }>): void {
    switch (signal.kind) {
      case 'report':
        this.#reported(signal);
        break;
      case 'added':
        this.#adds.get(signal.number)?.resolve(signal.outcome);
        this.#adds.delete(signal.number);
        break;
      case 'health':
        this.health.changed(signal.webhooks);
        break;
      case 'endpoint_wanted': {
        const { endpointId } = signal;
        this.#send({ kind: 'endpoint', endpointId, endpoint: this.#parts.extractionEndpoint(endpointId) });
        break;
      }
      case 'fault':
        this.#parts.onStoreFaults([signal.fault]);
        for (const { resolve } of this.#settling) resolve();
        break;
      case 'log': {
        const [level, fields, message] = signal.line;
        this.#parts.log[level](fields, message);
        break;
      }
      default:
        unreachable(signal);
    }
  }

  #reported({ storedUpTo, ended, metrics }: Extract<DeliverSignal, { readonly kind: 'report' }>): void {
    this.#metrics = metrics;
    this.#storedUpTo = Math.max(this.#storedUpTo, storedUpTo);
    this.#parts.journal.dueStored(storedUpTo);
    this.#outbox.stored(storedUpTo);
    for (const one of this.#settling) if (one.upTo <= this.#storedUpTo) one.resolve();
    for (const id of ended) {
      if (!this.#waiters.has(id)) this.#unheard.add(id);
      this.#wakeWaiter(id);
    }
    for (const id of this.#unheard) {
      if (this.#unheard.size <= UNHEARD_MAX) break;
      this.#unheard.delete(id);
    }
  }

  #wakeWaiter(deliveryId: string): void {
    this.#waiters.get(deliveryId)?.();
    this.#waiters.delete(deliveryId);
  }

  /** The thread blocks while it writes; one that never returns can only be replaced together with the process. */
  #beatWatcher(): () => void {
    let seen = 0;
    let rounds = 0;
    return () => {
      const now = Atomics.load(this.#beat, 0);
      rounds = this.#isStarted && this.#pool.current?.up === true && now === seen ? rounds + 1 : 0;
      seen = now;
      if (rounds < DELIVERY_THREAD_STUCK_SECONDS) return;
      rounds = 0;
      const detail = `the delivery thread did not respond for ${DELIVERY_THREAD_STUCK_SECONDS} s`;
      this.#parts.onStoreFaults([fault('store_stuck', detail)]);
    };
  }
}

const NO_METRICS: EngineMetrics = {
  totals: {
    connectionsOpened: 0,
    connectionsReused: 0,
    blockedAddresses: 0,
    warnings: 0,
    evicted: 0,
    overflowed: 0,
    skippedUnrecorded: 0,
  },
  counts: { attempts: [], ends: [], seconds: [], secondsSum: 0 },
  attemptsInFlight: 0,
  held: 0,
  pending: 0,
  oldestPendingMs: null,
};

function sumOf(one: EngineMetrics['totals'], other: EngineMetrics['totals']): EngineMetrics['totals'] {
  return {
    connectionsOpened: one.connectionsOpened + other.connectionsOpened,
    connectionsReused: one.connectionsReused + other.connectionsReused,
    blockedAddresses: one.blockedAddresses + other.blockedAddresses,
    warnings: one.warnings + other.warnings,
    evicted: one.evicted + other.evicted,
    overflowed: one.overflowed + other.overflowed,
    skippedUnrecorded: one.skippedUnrecorded + other.skippedUnrecorded,
  };
}
