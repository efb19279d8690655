import { unreachable } from '../kernel/brand.ts';
import type { WorkConsumer } from '../ports/work-queue-port.ts';
import type { DeliverSignal, Endpoint, JournalEnd, JournalPlace, ThreadOrder } from './deliver-messages.ts';
import { DeliveryEngine, type EngineParts } from './delivery-engine.ts';
import type { DeliveryWorker } from './delivery-worker.ts';

export interface ThreadParts extends Pick<EngineParts, 'webhooks' | 'deliveries' | 'nowMs' | 'after'> {
  readonly post: (signal: DeliverSignal) => void;
  openQueue(
    place: JournalPlace,
    onAcknowledged: (upToSequence: number) => void,
  ): WorkConsumer & { announce(end: JournalEnd): void };
  openWorker(parts: {
    readonly onResults: Parameters<EngineParts['openWorker']>[0];
    readonly onStopped: () => void;
  }): Pick<DeliveryWorker, 'order' | 'stats'>;
  setForbidden(addresses: Extract<ThreadOrder, { readonly kind: 'start' }>['listening']): void;
  /** Called after `stop`, when every result is stored and reported. */
  onStopped(): void;
}

/** Choice: time between two reports while much happens. */
const REPORT_GAP_MS = 25;
const PRUNE_MS = 1_000;

/** Connects the engine with the main thread: orders in, reports out. */
export class DeliveryThread {
  readonly #parts: ThreadParts;
  #engine: DeliveryEngine | null = null;
  #announce: (end: JournalEnd) => void = () => {};
  /** Endpoints of extraction jobs, as far as they are needed at the moment. */
  readonly #endpoints = new Map<string, Endpoint | null | 'asked'>();
  #storedUpTo = 0;
  #ended: string[] = [];
  #isReporting = false;
  #reportedMs = Number.NEGATIVE_INFINITY;
  #isStopped = false;

  constructor(parts: ThreadParts) {
    this.#parts = parts;
  }

  order(order: ThreadOrder): void {
    switch (order.kind) {
      case 'start':
        this.#parts.setForbidden(order.listening);
        this.#start(order.journal, order.end);
        break;
      case 'journal':
        this.#announce(order.end);
        this.#engine?.intake.wake();
        break;
      case 'webhook':
        this.#engine?.changed(order.news);
        break;
      case 'add':
        this.#add(order);
        break;
      case 'endpoint':
        this.#endpoints.set(order.endpointId, order.endpoint);
        this.#engine?.prefetch.look(order.endpointId);
        break;
      case 'forget':
        this.#engine?.prefetch.forget(order.endpointId);
        break;
      case 'stop':
        if (this.#engine === null) this.#stopped();
        else this.#engine.stop(order.graceMs);
        break;
      default:
        unreachable(order);
    }
  }

  #start(place: JournalPlace, end: JournalEnd): void {
    const { post, webhooks, deliveries, nowMs, after } = this.#parts;
    const queue = this.#parts.openQueue(place, (upTo) => {
      this.#storedUpTo = upTo;
    });
    this.#storedUpTo = place.acknowledged;
    this.#announce = (at) => queue.announce(at);
    queue.announce(end);
    this.#engine = new DeliveryEngine({
      webhooks,
      deliveries,
      queue,
      nowMs,
      after,
      openWorker: (onResults) => this.#parts.openWorker({ onResults, onStopped: () => this.#stopped() }),
      extractionEndpoint: (id) => this.#endpointOf(id),
      forgetEndpoint: (id) => void this.#endpoints.delete(id),
      onHealth: (changed) =>
        post({ kind: 'health', webhooks: changed.map(({ id, customer, health }) => ({ id, customer, health })) }),
      onEnded: (id) => void this.#ended.push(id),
      onProgress: () => this.#reportSoon(),
      onFault: (fault) => post({ kind: 'fault', fault }),
      log: (line) => post({ kind: 'log', line }),
    });
    this.#engine.start();
    this.#pruneLater();
    this.#reportSoon();
  }

  #add({ number, row }: Extract<ThreadOrder, { readonly kind: 'add' }>): void {
    // A body that crossed the threads is a plain array of bytes.
    const outcome = this.#engine?.add({ ...row, body: Buffer.from(row.body) }) ?? 'no_room';
    this.#parts.post({ kind: 'added', number, outcome });
  }

  #endpointOf(endpointId: string): Endpoint | null | 'asked' {
    const known = this.#endpoints.get(endpointId);
    if (known !== undefined) return known;
    if (!endpointId.startsWith('ext_')) return null;
    this.#endpoints.set(endpointId, 'asked');
    this.#parts.post({ kind: 'endpoint_wanted', endpointId });
    return 'asked';
  }

  #pruneLater(): void {
    this.#parts.after(PRUNE_MS, () => {
      if (this.#isStopped) return;
      this.#engine?.prune();
      // Hand-outs from the store change metrics without storing anything.
      this.#reportSoon();
      this.#pruneLater();
    });
  }

  #reportSoon(): void {
    if (this.#isReporting) return;
    this.#isReporting = true;
    const sinceMs = this.#parts.nowMs() - this.#reportedMs;
    const waitMs = sinceMs < 0 || sinceMs >= REPORT_GAP_MS ? 0 : REPORT_GAP_MS - sinceMs;
    this.#parts.after(waitMs, () => this.#report());
  }

  #report(): void {
    this.#isReporting = false;
    this.#reportedMs = this.#parts.nowMs();
    if (this.#engine === null) return;
    const ended = this.#ended;
    this.#ended = [];
    this.#parts.post({ kind: 'report', storedUpTo: this.#storedUpTo, ended, metrics: this.#engine.metrics() });
  }

  #stopped(): void {
    this.#isStopped = true;
    this.#engine?.close();
    this.#report();
    this.#parts.onStopped();
  }
}
