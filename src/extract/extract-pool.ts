import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { unreachable } from '../kernel/brand.ts';
import { programUrl } from '../kernel/programs.ts';
import type {
  ExtractEvent,
  ExtractOrder,
  ExtractPost,
  ExtractSignal,
  ExtractWorkerData,
  UploadSignal,
} from './extract-messages.ts';

export interface ExtractPoolEvents {
  /** A worker is up, initially or as a replacement. It does not have the jobs and steps of its predecessor. */
  onReady(worker: number): void;
  onEvents(worker: number, events: readonly ExtractEvent[]): void;
  onUpload(worker: number, signal: UploadSignal): void;
  /** The worker is not stuck. */
  onAlive(worker: number): void;
  /** The worker died, and its jobs and steps with it. Another one is being started; `onReady` follows. */
  onEnded(worker: number, error: unknown): void;
}

export interface ExtractPool {
  /** Workers are numbered from 0. */
  readonly workers: number;
  /** Sends an order; returns false if the worker is not up. */
  send(worker: number, order: ExtractOrder): boolean;
  /** Terminates a stuck worker; another one replaces it. */
  restart(worker: number): void;
  /** Ends all workers. Steps in progress are abandoned. */
  close(): Promise<void>;
}

/** Choice: pause before a restart if the previous worker died before it was up. */
const RESTART_PAUSE_MS = 500;
/** Choice: a worker that has not confirmed the stop by then is stuck and is terminated. */
const STOP_MS_MAX = 1_000;
/** Choice: a page whose processing takes more heap than this ends the worker, and not the process. */
const WORKER_HEAP_MIB_MAX = 256;
/** Measured: a step that finds 100,000 others takes the process to 254 MB with this limit and to 403 MB without, at the same speed. */
const WORKER_YOUNG_MIB_MAX = 16;

/**
 * The extract workers: Piscina owns their threads, in each of which one endless task processes steps. They use neither the store nor a
 * model, so they may be terminated from outside. A dead one is replaced.
 */
export async function openExtractPool(
  workers: number,
  workerData: ExtractWorkerData,
  events: ExtractPoolEvents,
): Promise<ExtractPool> {
  const places = Array.from({ length: workers }, (_, number) => new WorkerPlace(number, workerData, events));
  await Promise.all(places.map((place) => place.open()));
  return {
    workers,
    send: (worker, order) => places[worker]?.send(order) ?? false,
    restart: (worker) => places[worker]?.restart(),
    async close() {
      await Promise.all(places.map((place) => place.close()));
    },
  };
}

class WorkerPlace {
  readonly #number: number;
  readonly #events: ExtractPoolEvents;
  readonly #threads: Piscina<ExtractPost, void>;
  #port: MessagePort | null = null;
  #abort = new AbortController();
  #up = false;
  #closing = false;
  #post: Promise<void> = Promise.resolve();

  constructor(number: number, workerData: ExtractWorkerData, events: ExtractPoolEvents) {
    this.#number = number;
    this.#events = events;
    this.#threads = new Piscina<ExtractPost, void>({
      filename: programUrl('extract').href,
      minThreads: 1,
      maxThreads: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      // Piscina's own hand-over would stop the timers of an idle worker, which requests depend on.
      atomics: 'disabled',
      maxQueue: 1,
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MIB_MAX, maxYoungGenerationSizeMb: WORKER_YOUNG_MIB_MAX },
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

  send(order: ExtractOrder): boolean {
    if (!this.#up || this.#port === null) return false;
    this.#port.postMessage(order);
    return true;
  }

  restart(): void {
    this.#abort.abort();
  }

  async close(): Promise<void> {
    this.#closing = true;
    if (!this.send({ kind: 'stop' })) this.restart();
    const timer = setTimeout(() => this.restart(), STOP_MS_MAX);
    await this.#post;
    clearTimeout(timer);
    await this.#threads.destroy();
  }

  async #keepPost(ready: () => void, failed: (error: unknown) => void): Promise<void> {
    let wasReady = false;
    while (!this.#closing) {
      const { port1, port2 } = new MessageChannel();
      this.#port = port1;
      this.#abort = new AbortController();
      port1.on('message', (signal: ExtractSignal) => {
        if (signal.kind === 'ready') {
          wasReady = true;
          ready();
        }
        // Messages that a worker sent before it was abandoned are too late.
        if (this.#port === port1) this.#hear(signal);
      });
      try {
        await this.#threads.run({ port: port2 }, { transferList: [port2], signal: this.#abort.signal });
        this.#up = false;
      } catch (error) {
        const wasUp = this.#up;
        this.#up = false;
        if (!wasReady) {
          failed(error);
          void this.#threads.destroy();
          return;
        }
        if (this.#closing) return;
        this.#port = null;
        this.#events.onEnded(this.#number, error);
        if (!wasUp) await new Promise((done) => setTimeout(done, RESTART_PAUSE_MS));
      } finally {
        port1.close();
      }
    }
  }

  #hear(signal: ExtractSignal): void {
    switch (signal.kind) {
      case 'ready':
        this.#up = true;
        this.#events.onReady(this.#number);
        break;
      case 'events':
        this.#events.onEvents(this.#number, signal.events);
        break;
      case 'ask':
      case 'uploaded':
        this.#events.onUpload(this.#number, signal);
        break;
      case 'alive':
        this.#events.onAlive(this.#number);
        break;
      case 'stopped':
        // The worker's task ends when its port is closed.
        this.#port?.close();
        break;
      default:
        unreachable(signal);
    }
  }
}
