import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { unreachable } from '../kernel/brand.ts';
import { programUrl } from '../kernel/programs.ts';
import type {
  DeliverOrder,
  DeliverPost,
  DeliverResult,
  DeliverSignal,
  DeliverStats,
  DeliverWorkerData,
} from './deliver-messages.ts';
import { packOrder, unpackSignal, type WireSignal } from './deliver-wire.ts';

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

/** Choice: pause before a restart if the previous worker died before it was up. */
const RESTART_PAUSE_MS = 500;
/** Choice: a worker that has not confirmed the stop this long after its grace period is stuck; the process ends without it. */
const STOP_MARGIN_MS = 1_000;

/**
 * The deliver worker: Piscina owns its thread, in which one endless task sends. It is never terminated from outside while it works; a dead
 * one is replaced. Choice: one worker, because a single thread makes thousands of requests a second, and the main thread, which stores
 * every result, is saturated long before it.
 */
export async function openDeliverPool(workerData: DeliverWorkerData, events: DeliverPoolEvents): Promise<DeliverPool> {
  const pool = new WorkerPlace(workerData, events);
  await pool.open();
  return pool;
}

/** The pool of a node that does not send: no worker is ever up, so deliveries stay in the store. */
export async function openNoDeliverPool(): Promise<DeliverPool> {
  return { up: false, send: () => false, close: async () => {} };
}

class WorkerPlace implements DeliverPool {
  readonly #events: DeliverPoolEvents;
  readonly #threads: Piscina<DeliverPost, void>;
  #port: MessagePort | null = null;
  #post: Promise<void> = Promise.resolve();
  #closing = false;
  #onStopped: () => void = () => {};
  up = false;

  constructor(workerData: DeliverWorkerData, events: DeliverPoolEvents) {
    this.#events = events;
    this.#threads = new Piscina<DeliverPost, void>({
      filename: programUrl('deliver').href,
      minThreads: 1,
      maxThreads: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      // Piscina's own hand-over would stop the timers of an idle worker, which retries depend on.
      atomics: 'disabled',
      maxQueue: 1,
      recordTiming: false,
      workerData,
    });
    this.#threads.on('error', () => {
      // The task's rejection reports the error.
    });
  }

  /** Resolves when the worker is up; rejects when it cannot start. */
  open(): Promise<void> {
    return new Promise<void>((ready, failed) => {
      this.#post = this.#keepPost(ready, failed);
    });
  }

  send(order: DeliverOrder): boolean {
    if (!this.up || this.#port === null) return false;
    this.#port.postMessage(packOrder(order));
    return true;
  }

  async #keepPost(ready: () => void, failed: (error: unknown) => void): Promise<void> {
    let wasReady = false;
    while (!this.#closing) {
      const { port1, port2 } = new MessageChannel();
      this.#port = port1;
      port1.on('message', (message: WireSignal) => {
        const signal = unpackSignal(message);
        if (signal.kind === 'ready') {
          wasReady = true;
          ready();
        }
        this.#hear(signal);
      });
      try {
        await this.#threads.run({ port: port2 }, { transferList: [port2] });
        this.up = false;
      } catch (error) {
        const wasUp = this.up;
        this.up = false;
        if (!wasReady) {
          failed(error);
          void this.#threads.destroy();
          return;
        }
        this.#events.onEnded(error);
        if (!wasUp) await new Promise((done) => setTimeout(done, RESTART_PAUSE_MS));
      } finally {
        port1.close();
      }
    }
  }

  #hear(signal: DeliverSignal): void {
    switch (signal.kind) {
      case 'ready':
        this.up = true;
        this.#events.onReady();
        break;
      case 'results':
        this.#events.onResults(signal.results, signal.stats);
        break;
      case 'stopped':
        this.#onStopped();
        // The worker's task ends when its port is closed.
        this.#port?.close();
        break;
      default:
        unreachable(signal);
    }
  }

  async close(graceMs: number): Promise<void> {
    this.#closing = true;
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
    const ended = Promise.race([stopped, this.#post]).then(() => this.#post);
    const first = await Promise.race([ended, late]);
    clearTimeout(timer);
    if (first !== 'late') await this.#threads.close();
  }
}
