import type { ListeningAddress } from '../../egress/public-address.ts';
import { Calls } from '../../kernel/calls.ts';
import { WorkerPlace } from '../../kernel/worker-place.ts';
import type { LiveNode } from '../../state/tables/shared-jobs.ts';
import type { EngineOrder, EngineSignal, EngineThreadData, EngineWrite } from '../engine/engine-messages.ts';

/** Measured: a crawl of 3,000 pages takes the process to 264 MB with 4, to 273 MB with 12, at the same speed. */
const ENGINE_YOUNG_MIB_MAX = 4;

/** Every signal except the results of calls. */
export type EngineNews = Exclude<EngineSignal, { readonly kind: 'ready' | 'returned' | 'stopped' }>;

export interface EngineThreadParts {
  readonly data: EngineThreadData;
  onNews(news: EngineNews): void;
  /** Called when the thread has died. It is started again. */
  onDied(error: unknown): void;
}

/**
 * Starts the extraction thread with its first work, and again whenever it dies; calls that it had not answered are then rejected. It has
 * the store open, so it is never terminated from outside before it has closed it.
 */
export class EngineThread {
  readonly #parts: EngineThreadParts;
  readonly #calls = new Calls();
  #place: WorkerPlace<EngineOrder, EngineSignal> | null = null;
  #listening: readonly ListeningAddress[] | null = null;
  #nodes: readonly LiveNode[] | null = null;
  #isFailing = false;
  #isStopping = false;

  constructor(parts: EngineThreadParts) {
    this.#parts = parts;
  }

  /** Whether the thread has died and is not up again yet. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  wake(): void {
    if (this.#isStopping || this.#place !== null) return;
    this.#place = this.#createPlace();
    this.#place.start();
  }

  /** Resolves to the result of a write; rejects if the thread is not running or dies first. */
  write<T>(write: EngineWrite): Promise<T> {
    this.wake();
    if (this.#place?.isOpen !== true) return Promise.reject(new Error('the extraction thread is not running'));
    return this.#calls.make<T>((call) => this.send({ kind: 'call', call, write }));
  }

  send(order: EngineOrder): void {
    this.#place?.send(order);
  }

  listens(addresses: readonly ListeningAddress[]): void {
    this.#listening = addresses;
    this.send({ kind: 'listening', addresses });
  }

  setNodes(nodes: readonly LiveNode[]): void {
    this.#nodes = nodes;
    this.send({ kind: 'nodes', nodes });
  }

  /** Resolves when the thread has written what had arrived and has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#place?.end();
    this.send({ kind: 'stop' });
    await this.#place?.ended();
    this.#calls.fail(ended());
    await this.#place?.destroy();
  }

  #createPlace(): WorkerPlace<EngineOrder, EngineSignal> {
    return new WorkerPlace({
      program: 'engine',
      workerData: this.#parts.data,
      resourceLimits: { maxYoungGenerationSizeMb: ENGINE_YOUNG_MIB_MAX },
      pausesAlways: true,
      onStarting: () => {
        if (this.#listening !== null) this.listens(this.#listening);
        if (this.#nodes !== null) this.setNodes(this.#nodes);
      },
      onReady: () => {
        this.#isFailing = false;
      },
      onSignal: (signal) => {
        if (signal.kind === 'returned') this.#calls.returned(signal.call, signal.value);
        else this.#parts.onNews(signal);
      },
      onDied: (error) => {
        this.#isFailing = true;
        this.#parts.onDied(error);
        this.#calls.fail(ended());
      },
    });
  }
}

function ended(): Error {
  return new Error('the extraction thread ended');
}
