import { WorkerPlace } from '../kernel/worker-place.ts';
import type { DeliverOrder, DeliverResult, DeliverStats, DeliverWorkerData } from './deliver-messages.ts';
import { packOrder, unpackSignal, type WireOrder, type WireSignal } from './deliver-wire.ts';

export interface DeliverPoolEvents {
  /** A worker is up, initially or as a replacement. It does not have the deliveries of its predecessor. */
  onReady(): void;
  onResults(results: readonly DeliverResult[], stats: DeliverStats): void;
  /** The worker died, and its deliveries with it. Another one is being started; `onReady` follows. */
  onEnded(error: unknown): void;
}

export interface DeliverPool {
  /** Sends an order; returns false if no worker is up. */
  send(order: DeliverOrder): boolean;
  readonly up: boolean;
  /** Lets attempts in flight continue for `graceMs`, then ends the worker. Its results arrive before this resolves. */
  close(graceMs: number): Promise<void>;
}

/** Choice: a worker that has not confirmed the stop this long after its grace period is stuck; the process ends without it. */
const STOP_MARGIN_MS = 1_000;

/**
 * Starts the deliver worker, which is never terminated from outside while it works. Choice: one worker, because a single thread makes
 * thousands of requests a second, and the main thread, which stores every result, is saturated long before it.
 */
export async function openDeliverPool(workerData: DeliverWorkerData, events: DeliverPoolEvents): Promise<DeliverPool> {
  const worker = new DeliverWorker(workerData, events);
  await worker.open();
  return worker;
}

/** The pool of a node that does not send: no worker is ever up, so deliveries stay in the store. */
export async function openNoDeliverPool(): Promise<DeliverPool> {
  return { up: false, send: () => false, close: async () => {} };
}

class DeliverWorker implements DeliverPool {
  readonly #place: WorkerPlace<WireOrder, WireSignal>;
  #onStopped: () => void = () => {};

  constructor(workerData: DeliverWorkerData, events: DeliverPoolEvents) {
    this.#place = new WorkerPlace({
      program: 'deliver',
      workerData,
      onReady: () => events.onReady(),
      onSignal: (packed) => {
        const signal = unpackSignal(packed);
        if (signal.kind === 'results') events.onResults(signal.results, signal.stats);
      },
      onStopped: () => this.#onStopped(),
      onDied: (error) => events.onEnded(error),
    });
  }

  get up(): boolean {
    return this.#place.isUp;
  }

  open(): Promise<void> {
    return this.#place.open();
  }

  send(order: DeliverOrder): boolean {
    return this.up && this.#place.send(packOrder(order));
  }

  async close(graceMs: number): Promise<void> {
    const place = this.#place;
    place.end();
    // Results arrive through the port, the end of the worker's task through Piscina, in no defined order. After `stopped` all results have
    // arrived.
    const stopped = new Promise<void>((resolve) => {
      this.#onStopped = resolve;
    });
    if (!this.send({ kind: 'stop', graceMs })) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), graceMs + STOP_MARGIN_MS);
    });
    // A worker that dies meanwhile sends nothing more.
    const ended = Promise.race([stopped, place.ended()]).then(() => place.ended());
    const first = await Promise.race([ended, late]);
    clearTimeout(timer);
    if (first !== 'late') await place.destroy();
  }
}
