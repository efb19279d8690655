import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { unreachable } from '../base/brand.ts';
import { programUrl } from '../base/programs.ts';
import type {
  ExtractEvent,
  ExtractOrder,
  ExtractPost,
  ExtractSignal,
  ExtractWorkerData,
  UploadSignal,
} from './extract-messages.ts';

export interface ExtractPoolEvents {
  /** A worker is up, at the start or in another's place. It knows nothing of what its predecessor held. */
  onReady(worker: number): void;
  onEvents(worker: number, events: readonly ExtractEvent[]): void;
  onUpload(worker: number, signal: UploadSignal): void;
  /** The worker is not stuck. */
  onAlive(worker: number): void;
  /** The worker is dead with all it held. Another one is on its way, `onReady` tells when. */
  onEnded(worker: number, error: unknown): void;
}

export interface ExtractPool {
  /** They are numbered from 0. */
  readonly workers: number;
  /** Says whether the worker is there to hear it. */
  send(worker: number, order: ExtractOrder): boolean;
  /** Ends a worker that is stuck; another takes its place. */
  restart(worker: number): void;
  /** Ends them all. What they were at is given up. */
  close(): Promise<void>;
}

/** Choice: how long the place stays empty when the worker's predecessor died before it was up. */
const RESTART_PAUSE_MS = 500;
/** Choice: a worker that has not answered the order to stop by then is stuck; it is ended. */
const STOP_MS_MAX = 1_000;
/** Choice: a page that makes its worker use more than this ends the worker, and not the process. */
const WORKER_HEAP_MIB_MAX = 256;
/** Measured: a step that finds 100,000 others takes the process to 254 MB with it and to 403 MB without, at the same speed. */
const WORKER_YOUNG_MIB_MAX = 16;

/**
 * The extract workers: Piscina keeps their threads, one endless task in each does steps. They hold neither the store nor a model, so
 * that one may be ended from outside. One that dies is replaced.
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
      // With Piscina's own hand-over an idle worker's timers stand still, and requests live by them.
      atomics: 'disabled',
      maxQueue: 1,
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MIB_MAX, maxYoungGenerationSizeMb: WORKER_YOUNG_MIB_MAX },
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
        // What a worker said before it was given up comes too late.
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
        // The worker's task ends with its port.
        this.#port?.close();
        break;
      default:
        unreachable(signal);
    }
  }
}
