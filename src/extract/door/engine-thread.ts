import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { setTimeout as sleep } from 'node:timers/promises';
import { Piscina } from 'piscina';
import type { ListeningAddress } from '../../egress/public-address.ts';
import { Calls } from '../../kernel/calls.ts';
import { programUrl } from '../../kernel/programs.ts';
import type { LiveNode } from '../../state/tables/shared-jobs.ts';
import type {
  EngineOrder,
  EngineSignal,
  EngineThreadData,
  EngineThreadTask,
  EngineWrite,
} from '../engine/engine-messages.ts';

/** Choice: pause before the thread is started again after it has died. */
const RESTART_PAUSE_MS = 500;
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
 * Starts the extraction thread with its first work, and again whenever it dies; calls that it had not answered are then rejected. Piscina
 * owns the thread, in which one endless task runs. It has the store open, so it is never terminated from outside before it has closed it.
 */
export class EngineThread {
  readonly #parts: EngineThreadParts;
  readonly #calls = new Calls();
  #port: MessagePort | null = null;
  #running: Promise<void> | null = null;
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
    if (!this.#isStopping) this.#running ??= this.#keepRunning();
  }

  /** Resolves to the result of a write; rejects if the thread is not running or dies first. */
  write<T>(write: EngineWrite): Promise<T> {
    this.wake();
    if (this.#port === null) return Promise.reject(new Error('the extraction thread is not running'));
    return this.#calls.make<T>((call) => this.send({ kind: 'call', call, write }));
  }

  send(order: EngineOrder): void {
    this.#port?.postMessage(order);
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
    this.send({ kind: 'stop' });
    await this.#running;
  }

  async #keepRunning(): Promise<void> {
    const threads = new Piscina<EngineThreadTask, void>({
      filename: programUrl('engine').href,
      minThreads: 1,
      maxThreads: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      // Piscina's own hand-over would stop the timers of an idle worker.
      atomics: 'disabled',
      maxQueue: 1,
      recordTiming: false,
      resourceLimits: { maxYoungGenerationSizeMb: ENGINE_YOUNG_MIB_MAX },
      workerData: this.#parts.data,
    });
    threads.on('error', () => {
      // The task's rejection reports the error.
    });
    while (!this.#isStopping) await this.#runOnce(threads);
    await threads.destroy();
  }

  /** Resolves when the thread has stopped, or a while after it has died. */
  async #runOnce(threads: Piscina<EngineThreadTask, void>): Promise<void> {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.on('message', (signal: EngineSignal) => this.#hear(signal, port1));
    if (this.#listening !== null) this.listens(this.#listening);
    if (this.#nodes !== null) this.setNodes(this.#nodes);
    try {
      await threads.run({ port: port2 }, { transferList: [port2] });
    } catch (error) {
      this.#isFailing = true;
      this.#parts.onDied(error);
    }
    this.#port = null;
    port1.close();
    this.#calls.fail(new Error('the extraction thread ended'));
    if (this.#isFailing && !this.#isStopping) await sleep(RESTART_PAUSE_MS);
  }

  #hear(signal: EngineSignal, port: MessagePort): void {
    if (signal.kind === 'ready') this.#isFailing = false;
    else if (signal.kind === 'returned') this.#calls.returned(signal.call, signal.value);
    else if (signal.kind === 'stopped') port.close();
    else this.#parts.onNews(signal);
  }
}
