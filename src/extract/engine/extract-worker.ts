import { unreachable } from '../../kernel/brand.ts';
import { WorkerPlace } from '../../kernel/worker-place.ts';
import type {
  ExtractEvent,
  ExtractOrder,
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
  const worker = new RunningWorker(workerData, events);
  await worker.open();
  return worker;
}

/**
 * The extract worker uses neither the store nor a model, so it may be terminated from outside. Choice: one, because it parses some 2,000
 * small pages a second, and the rate limiter of one domain allows 4.
 */
class RunningWorker implements ExtractWorker {
  readonly #place: WorkerPlace<ExtractOrder, ExtractSignal>;
  #closing = false;

  constructor(workerData: ExtractWorkerData, events: ExtractWorkerEvents) {
    this.#place = new WorkerPlace({
      program: 'extract',
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MIB_MAX, maxYoungGenerationSizeMb: WORKER_YOUNG_MIB_MAX },
      onReady: () => events.onReady(),
      onSignal: (signal) => {
        switch (signal.kind) {
          case 'events':
            events.onEvents(signal.events);
            break;
          case 'ask':
          case 'uploaded':
            events.onUpload(signal);
            break;
          case 'alive':
            events.onAlive();
            break;
          default:
            unreachable(signal);
        }
      },
      onDied: (error) => {
        if (!this.#closing) events.onEnded(error);
      },
    });
  }

  open(): Promise<void> {
    return this.#place.open();
  }

  send(order: ExtractOrder): boolean {
    return this.#place.isUp && this.#place.send(order);
  }

  restart(): void {
    this.#place.restart();
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#place.end();
    if (!this.send({ kind: 'stop' })) this.restart();
    const timer = setTimeout(() => this.restart(), STOP_MS_MAX);
    await this.#place.ended();
    clearTimeout(timer);
    await this.#place.destroy();
  }
}
