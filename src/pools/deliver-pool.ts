import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { unreachable } from '../base/brand.ts';
import { programUrl } from '../base/programs.ts';
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
  /** A worker is up, at the start or in another's place. It knows nothing of what its predecessor held. */
  onReady(): void;
  onResults(results: readonly DeliverResult[], stats: DeliverStats): void;
  /** The worker is dead with all it held. Another one is on its way, `onReady` tells when. */
  onEnded(error: unknown): void;
}

export interface DeliverPool {
  /** Says whether a worker is there to hear it. */
  send(order: DeliverOrder): boolean;
  readonly up: boolean;
  /** Lets attempts in flight go on for `graceMs`, then ends the worker. Its results come before this resolves. */
  close(graceMs: number): Promise<void>;
}

/** Choice: how long the place stays empty when the worker's predecessor died before it was up. */
const RESTART_PAUSE_MS = 500;
/** Choice: a worker that has not answered the order to stop so long after its grace is stuck; the process ends without it. */
const STOP_MARGIN_MS = 1_000;

/**
 * The deliver worker: Piscina keeps its thread, one endless task in it sends. Ended from outside never while it works; one that
 * dies is replaced. Choice: one worker, since a single thread makes thousands of requests a second and the main thread, which
 * writes every result down, is busy long before it.
 */
export async function openDeliverPool(workerData: DeliverWorkerData, events: DeliverPoolEvents): Promise<DeliverPool> {
  const pool = new WorkerPlace(workerData, events);
  await pool.open();
  return pool;
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
      // With Piscina's own hand-over an idle worker's timers stand still, and retries live by them.
      atomics: 'disabled',
      maxQueue: 1,
      recordTiming: false,
      workerData,
    });
    this.#threads.on('error', () => {
      // The task's own rejection tells it.
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
        // The worker's task ends with its port.
        this.#port?.close();
        break;
      default:
        unreachable(signal);
    }
  }

  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    // Results come by the port, the task's end by another way: after the port's last word all of them are here.
    const stopped = new Promise<void>((resolve) => {
      this.#onStopped = resolve;
    });
    if (!this.send({ kind: 'stop', graceMs })) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), graceMs + STOP_MARGIN_MS);
    });
    // A worker that dies meanwhile says nothing more.
    const ended = Promise.race([stopped, this.#post]).then(() => this.#post);
    const first = await Promise.race([ended, late]);
    clearTimeout(timer);
    if (first !== 'late') await this.#threads.close();
  }
}
