import { probeSent } from '../work/webhook-health.ts';
import { HELD_WAIT_MS_MAX, isHeldWhileUnhealthy } from '../work/webhook-schedule.ts';
import type { Delivery, DeliveryError, DeliveryId, WebhookRetry } from '../work/webhook.ts';
import type { DeliverOrder } from './deliver-messages.ts';
import { type DeliveryEndpointParts, readEndpoint } from './delivery-endpoints.ts';
import { taskOf, waitMsOf } from './delivery-task.ts';
import { DELIVERIES_HELD_PER_ENDPOINT_MAX } from '../kernel/delivery-limits.ts';
import type { StoreFault } from '../state/tables/durable.ts';
import type { Subscriber, Subscribers } from './due-delivery.ts';
import { LaterDeliveries } from './later-deliveries.ts';
import { isOwn, OwnEndpoints } from './own-endpoints.ts';
import { trialWaitMs } from './patience.ts';
import type { DeliveryUpdate } from '../state/tables/deliveries/row.ts';
import type { Deliveries } from '../state/tables/delivery-table.ts';
import type { EndpointWindow, InFlightWindows } from './in-flight-windows.ts';

export interface PrefetchParts extends DeliveryEndpointParts {
  readonly subscribers: Subscribers;
  readonly windows: InFlightWindows;
  readonly deliveries: Pick<Deliveries, 'find' | 'pendingOf' | 'hasPendingProbe' | 'apply'>;
  nowMs(): number;
  /** Sends an order to the worker; returns false if there is none. */
  send(order: DeliverOrder): boolean;
  /** Called when a trial of a patient webhook is handed out. */
  onProbe(subscriber: Subscriber): void;
  /** Rows ended as skipped in the store. */
  onSkipped(rows: readonly Delivery[]): void;
  onFault(fault: StoreFault): void;
}

/** Choice: endpoints read from the store per turn of the event loop; some 64 rows each, a millisecond in all. */
const ENDPOINTS_PER_TURN = 4;
/** Choice: rows skipped per transaction, some 2 ms of the main thread. */
const SKIPS_PER_WRITE = 256;
/** Choice: a row that a read missed waits for at most this many reads of its endpoint. */
const READS_BETWEEN_WHOLE = 16;
/** Choice: pause after the store refused a write. */
const RETRY_MS = 1_000;
/** Choice: an unhealthy webhook has little pending besides its probe; if it has more, the search takes some 2 ms. */
const PROBE_ROWS_MAX = 1_000;

/**
 * Prefetch from the store to the worker: hands out stored deliveries as far as the in-flight windows allow, the remaining endpoints in
 * round-robin order.
 */
export class Prefetch {
  readonly #parts: PrefetchParts;
  /** Endpoints that the worker knows. */
  readonly #known = new Set<string>();
  /** Webhooks whose secret cannot be read: their deliveries stay pending until a rotation or the next start. */
  readonly #unreadable = new Set<string>();
  /** Endpoints whose rows are being skipped. */
  readonly #skipping = new Set<string>();
  /** Deliveries whose next attempt is far in the future. */
  readonly later: LaterDeliveries;
  readonly #own = new OwnEndpoints();
  #open = false;
  #refilling = false;

  constructor(parts: PrefetchParts) {
    this.#parts = parts;
    this.later = new LaterDeliveries({
      nowMs: () => parts.nowMs(),
      onDue: (endpointId, ids) => this.#due(endpointId, ids),
    });
  }

  /** Called when a new worker is up, which knows no endpoint yet. */
  open(): void {
    this.#known.clear();
    this.#keepProbes();
    for (const endpointId of this.#own.clear()) this.look(endpointId);
    this.#open = true;
    this.refillSoon();
  }

  /**
   * Marks a webhook as being probed if a probe of the previous run is still pending in the store, as is done for probes in the journal: no
   * second probe is sent meanwhile, and the result of the pending one counts as a probe's.
   */
  #keepProbes(): void {
    for (const subscriber of this.#parts.subscribers.all()) {
      const { webhook } = subscriber;
      const { status, nextProbeAtMs } = webhook.health;
      if (status === 'healthy' || nextProbeAtMs === null) continue;
      if (this.#parts.deliveries.hasPendingProbe(webhook.id, PROBE_ROWS_MAX))
        subscriber.webhook = { ...webhook, health: probeSent(webhook.health) };
    }
  }

  /** Stops handing out until `open`. */
  close(): void {
    this.#open = false;
  }

  /** Offers rows that were just stored. */
  offer(rows: readonly Delivery[]): void {
    const taken: Delivery[] = [];
    for (const row of rows) {
      if (row.status !== 'pending') continue;
      const window = this.windowOf(row.endpointId);
      if (window.held.has(row.id) || this.later.has(row.endpointId, row.id)) continue;
      if (this.#mayGoAtOnce(window, row)) this.#take(window, row, taken);
      // The caller waits for the end of a test; without a readable secret it would wait forever.
      else if (row.trigger === 'test' && this.#unreadable.has(row.endpointId)) void this.#skip(window, [row], 'gone');
      else this.#parts.windows.line(window);
    }
    this.#send(taken);
    this.refillSoon();
  }

  /** Hands out those decisions' rows that may go at once, before they are stored, and returns them. */
  offerEarly(rows: readonly Delivery[]): readonly Delivery[] {
    const taken: Delivery[] = [];
    for (const row of rows) {
      if (row.status !== 'pending' || row.trigger !== 'decision') continue;
      const window = this.windowOf(row.endpointId);
      if (window.held.has(row.id)) continue;
      if (this.#mayGoAtOnce(window, row)) this.#take(window, row, taken);
      else this.#parts.windows.finish(window, row.id);
    }
    this.#send(taken);
    return taken;
  }

  /** Returns whether the row may skip the queue. Tests and probes always may, because their result is awaited. */
  #mayGoAtOnce(window: EndpointWindow, { endpointId, trigger }: Delivery): boolean {
    if (!this.#open || this.#isDisabled(endpointId)) return false;
    const urgent = trigger === 'test' || trigger === 'probe';
    if (!urgent && (window.overflowing || this.#parts.windows.room(window) === 0)) return false;
    if (isHeldWhileUnhealthy(trigger) && this.#skipErrorOf(endpointId) !== null) return false;
    if (isOwn(endpointId) && !this.#own.take(endpointId)) return false;
    return this.#meet(endpointId) === 'met';
  }

  windowOf(endpointId: string): EndpointWindow {
    const health = this.#parts.subscribers.find(endpointId)?.webhook.health;
    return this.#parts.windows.of(endpointId, (health?.consecutiveFailures ?? 0) > 0);
  }

  /** Queues the endpoint: the store has rows of it that may be handed out or must be skipped. */
  look(endpointId: string): void {
    this.#parts.windows.line(this.windowOf(endpointId));
    this.refillSoon();
  }

  /**
   * Ends the endpoint's pending deliveries as skipped: those of decisions, or all if the endpoint is gone or disabled. Those of decisions
   * wait in the store instead if the webhook is patient and unhealthy.
   */
  giveUp(endpointId: string, error: DeliveryError, all: boolean): void {
    if (this.#known.has(endpointId)) this.#parts.send({ kind: 'skip', endpointId, error, all });
    if (all && this.#known.delete(endpointId)) this.#parts.send({ kind: 'forget', endpointId });
    if (all) this.#unreadable.delete(endpointId);
    this.later.clear(endpointId);
    this.look(endpointId);
  }

  /** Forgets an endpoint without pending deliveries. */
  forget(endpointId: string): void {
    if (this.#known.delete(endpointId)) this.#parts.send({ kind: 'forget', endpointId });
    this.later.clear(endpointId);
    this.finished(endpointId);
  }

  /** Called when the endpoint's handed-out delivery has ended. */
  finished(endpointId: string): void {
    const next = this.#own.give(endpointId);
    if (next !== null) this.look(next);
  }

  /** Schedules a delivery whose next attempt is far in the future. Until then it takes no slot here or in the worker. */
  park(endpointId: string, id: DeliveryId, untilMs: number): void {
    // It has one pending delivery at a time.
    if (isOwn(endpointId)) this.forget(endpointId);
    else if (this.#skipErrorOf(endpointId) !== null) {
      this.look(endpointId);
      return;
    }
    this.later.add(endpointId, id, untilMs);
  }

  /** Reads the endpoint's waiting deliveries again: it is healthy again, or they are retried otherwise from now on. */
  lookAgain(endpointId: string): void {
    this.later.clear(endpointId);
    this.look(endpointId);
  }

  /** Applies a change of the endpoint's URL, secrets, headers or retries. */
  changed(endpointId: string): void {
    if (this.#known.delete(endpointId)) this.#meet(endpointId);
    this.#unreadable.delete(endpointId);
    this.lookAgain(endpointId);
  }

  refillSoon(): void {
    if (this.#refilling || !this.#open) return;
    this.#refilling = true;
    setImmediate(() => this.#refill());
  }

  #refill(): void {
    this.#refilling = false;
    for (let turn = 0; this.#open && turn < ENDPOINTS_PER_TURN; turn++) {
      const window = this.#parts.windows.next();
      if (window === null) return;
      if (!this.#skipping.has(window.id)) this.#readBack(window);
    }
    this.refillSoon();
  }

  /** Reads the endpoint's pending deliveries and hands them out, or skips them. */
  #readBack(window: EndpointWindow): void {
    const { windows } = this.#parts;
    if (isOwn(window.id) && !this.#own.take(window.id)) {
      windows.drained(window);
      return;
    }
    const error = this.#skipErrorOf(window.id);
    if (error === 'unhealthy' && this.#retryOf(window.id) === 'patient') {
      this.#tryOldest(window);
      return;
    }
    const room = error === null ? windows.room(window) : SKIPS_PER_WRITE;
    const waiting = error === null ? this.#nextOf(window, room) : this.#oldestOf(window, room);
    if (error !== null) {
      const skipped = waiting.filter(({ trigger }) => error !== 'unhealthy' || isHeldWhileUnhealthy(trigger));
      if (skipped.length > 0) {
        void this.#skip(window, skipped, error);
        return;
      }
    }
    if (waiting.length === 0 && window.held.size === 0) this.finished(window.id);
    if (this.#parkLate(window, waiting)) return;
    if (waiting.length > 0) {
      const met = this.#meet(window.id);
      if (met === 'unreadable') windows.drained(window);
      if (met !== 'met') return;
    }
    const taken: Delivery[] = [];
    for (const row of waiting.slice(0, windows.room(window))) this.#take(window, row, taken);
    window.readUpTo = taken.at(-1)?.id ?? null;
    if (waiting.length < room && taken.length === waiting.length) windows.drained(window);
    else if (windows.room(window) > 0) windows.line(window);
    this.#send(taken);
  }

  /** Hands out deliveries whose late retry is due, by their ids: a scan would pass all that wait before and after them. */
  #due(endpointId: string, ids: readonly DeliveryId[]): void {
    const customer = this.#parts.subscribers.find(endpointId)?.webhook.customer;
    if (customer === undefined || ids.length > DELIVERIES_HELD_PER_ENDPOINT_MAX) this.look(endpointId);
    else this.offer(ids.flatMap((id) => this.#parts.deliveries.find(customer, id) ?? []));
  }

  /** Returns whether any of the rows is due so late that it waits in the store; then the others are read again. */
  #parkLate(window: EndpointWindow, rows: readonly Delivery[]): boolean {
    const nowMs = this.#parts.nowMs();
    let isAny = false;
    for (const row of rows) {
      const waitMs = waitMsOf(row, this.#retryOf(window.id), nowMs);
      if (waitMs <= HELD_WAIT_MS_MAX) continue;
      isAny = true;
      this.park(window.id, row.id, nowMs + waitMs);
    }
    if (!isAny) return false;
    window.readUpTo = rows.at(-1)?.id ?? null;
    if (isOwn(window.id)) this.#parts.windows.drained(window);
    else this.#parts.windows.line(window);
    return true;
  }

  /** While a patient webhook is unhealthy, its oldest delivery is its trial and the others wait in the store. */
  #tryOldest(window: EndpointWindow): void {
    const { subscribers, windows, deliveries } = this.#parts;
    const subscriber = subscribers.find(window.id);
    // Until its trial the oldest waits.
    if (subscriber !== undefined && this.later.countOf(window.id) === 0) {
      const nowMs = this.#parts.nowMs();
      const waitMs = trialWaitMs(window, subscriber.webhook, nowMs);
      const [oldest] = deliveries.pendingOf(window.id, null, window.held.size + 1, window.held);
      if (oldest !== undefined && waitMs > 0 && waitMs !== Infinity)
        this.later.add(window.id, oldest.id, nowMs + waitMs);
      if (oldest !== undefined && waitMs === 0 && this.#meet(window.id) === 'met')
        this.#try(window, oldest, subscriber);
    }
    windows.drained(window);
  }

  #try(window: EndpointWindow, row: Delivery, subscriber: Subscriber): void {
    const { webhook } = subscriber;
    subscriber.webhook = { ...webhook, health: probeSent(webhook.health) };
    this.#parts.onProbe(subscriber);
    const taken: Delivery[] = [];
    this.#take(window, { ...row, trigger: 'probe' }, taken);
    // It has one attempt, whatever was tried before.
    this.#send(taken.map((trial) => ({ ...trial, attempts: [], nextAttemptAtMs: null })));
  }

  #retryOf(endpointId: string): WebhookRetry {
    return this.#parts.subscribers.find(endpointId)?.webhook.retry ?? 'fast';
  }

  /**
   * Reads the rows after those that were handed out last, so that earlier rows are not scanned again with each read. Scans all rows at
   * every `READS_BETWEEN_WHOLE`th read, and when too few follow, because a row may have been stored after one with a higher id.
   */
  #nextOf(window: EndpointWindow, room: number): readonly Delivery[] {
    const { readUpTo } = window;
    if (readUpTo !== null && ++window.reads < READS_BETWEEN_WHOLE) {
      const next = this.#parts.deliveries.pendingOf(window.id, readUpTo, room, this.#knownOf(window));
      if (next.length === room) return next;
    }
    return this.#oldestOf(window, room);
  }

  #oldestOf(window: EndpointWindow, room: number): readonly Delivery[] {
    window.reads = 0;
    const known = this.#knownOf(window);
    return this.#parts.deliveries.pendingOf(window.id, null, known.size + room, known);
  }

  /** The deliveries that are not to be handed out: in the worker already, or due later. */
  #knownOf({ id: endpointId, held }: EndpointWindow): Pick<ReadonlySet<DeliveryId>, 'has' | 'size'> {
    const later = this.later.countOf(endpointId);
    if (later === 0) return held;
    return { has: (id) => held.has(id) || this.later.has(endpointId, id), size: held.size + later };
  }

  #isDisabled(endpointId: string): boolean {
    return this.#parts.subscribers.find(endpointId)?.webhook.disabled ?? false;
  }

  /**
   * Returns why deliveries of decisions must not be sent there; unless the reason is `unhealthy`, it holds for all deliveries. Returns null
   * if they may be sent.
   */
  #skipErrorOf(endpointId: string): DeliveryError | null {
    if (this.#isDisabled(endpointId)) return 'disabled';
    if (this.#meet(endpointId) === 'gone') return 'gone';
    return this.#parts.subscribers.find(endpointId)?.webhook.health.status === 'unhealthy' ? 'unhealthy' : null;
  }

  async #skip(window: EndpointWindow, rows: readonly Delivery[], error: DeliveryError): Promise<void> {
    this.#skipping.add(window.id);
    const completedAtMs = this.#parts.nowMs();
    const updates = rows.map(({ customer, id, elapsedMs }): DeliveryUpdate => {
      return { customer, id, elapsedMs, status: 'skipped', attempt: null, error, completedAtMs, nextAttemptAtMs: null };
    });
    const done = await this.#parts.deliveries.apply(updates);
    if (done.kind === 'ok') this.#parts.onSkipped(rows);
    else {
      this.#parts.onFault(done);
      await new Promise((resume) => setTimeout(resume, RETRY_MS));
    }
    this.#skipping.delete(window.id);
    this.look(window.id);
  }

  /** Registers the endpoint with the worker unless it is known there. */
  #meet(endpointId: string): 'met' | 'gone' | 'unreadable' | 'no_worker' {
    if (this.#known.has(endpointId)) return 'met';
    if (this.#unreadable.has(endpointId)) return 'unreadable';
    const endpoint = readEndpoint(this.#parts, endpointId);
    if (endpoint === null) return 'gone';
    const { url, secrets, headers } = endpoint;
    const retry = this.#retryOf(endpointId);
    if (secrets === null || headers === null) {
      this.#unreadable.add(endpointId);
      return 'unreadable';
    }
    if (!this.#parts.send({ kind: 'endpoint', endpoint: { endpointId, url, secrets, headers, retry } }))
      return 'no_worker';
    this.#known.add(endpointId);
    return 'met';
  }

  #take(window: EndpointWindow, row: Delivery, taken: Delivery[]): void {
    const { customer, id, trigger, requestId, createdAtMs, attempts } = row;
    this.#parts.windows.take(window, { customer, id, trigger, requestId, createdAtMs, attempts: attempts.length });
    taken.push(row);
  }

  #send(rows: readonly Delivery[]): void {
    if (rows.length === 0) return;
    const nowMs = this.#parts.nowMs();
    const tasks = rows.map((row) => taskOf(row, this.#retryOf(row.endpointId), nowMs));
    this.#parts.send({ kind: 'deliver', tasks });
  }
}
