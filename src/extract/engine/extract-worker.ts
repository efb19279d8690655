import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { unreachable } from '../../kernel/brand.ts';
import { programUrl } from '../../kernel/programs.ts';
import type {
  ExtractEvent,
  ExtractOrder,
  ExtractPost,
  ExtractSignal,
  ExtractWorkerData,
  UploadSignal,
} from '../base/extract-messages.ts';

export interface ExtractWorkerEvents {
  /** The worker is up, initially or as a replacement. It does not have the jobs and steps of its predecessor. */
  onReady(): void;
  onEvents(events: readonly ExtractEvent[]): void;
  onUpload(signal: UploadSignal): void;
  /** The worker is not stuck. */
  onAlive(): void;
  /** The worker died, and its jobs and steps with it. Another one is being started; `onReady` follows. */
  onEnded(error: unknown): void;
}

export interface ExtractWorker {
  /** Sends an order; returns false if the worker is not up. */
  send(order: ExtractOrder): boolean;
  /** Terminates the worker, which is stuck; another one replaces it. */
  restart(): void;
  /** Ends the worker. Steps in progress are abandoned. */
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

/** Starts the extract worker. Resolves when it is up; rejects when it cannot start. */
export async function openExtractWorker(
  workerData: ExtractWorkerData,
  events: ExtractWorkerEvents,
): Promise<ExtractWorker> {
  const worker = new WorkerPlace(workerData, events);
  await worker.open();
  return worker;
}

/**
 * The place of the extract worker: Piscina owns its thread, in which one endless task processes steps. It uses neither the store nor a
 * model, so it may be terminated from outside. Choice: one, because it parses some 2,000 small pages a second, and the rate limiter of one
 * domain allows 4.
 */
class WorkerPlace implements ExtractWorker {
  readonly #events: ExtractWorkerEvents;
  readonly #threads: Piscina<ExtractPost, void>;
  #port: MessagePort | null = null;
  #abort = new AbortController();
  #up = false;
  #closing = false;
  #post: Promise<void> = Promise.resolve();

  constructor(workerData: ExtractWorkerData, events: ExtractWorkerEvents) {
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
        // Messages that the thread sent before it was abandoned are too late.
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
        this.#events.onEnded(error);
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
        this.#events.onReady();
        break;
      case 'events':
        this.#events.onEvents(signal.events);
        break;
      case 'ask':
      case 'uploaded':
        this.#events.onUpload(signal);
        break;
      case 'alive':
        this.#events.onAlive();
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
