import { setTimeout as sleep } from 'node:timers/promises';
import { MessageChannel, type MessagePort, type ResourceLimits } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { programUrl } from './programs.ts';

/** Choice: pause before another thread is started. */
const RESTART_PAUSE_MS = 500;

/** A thread sends `ready` once it is up, and `stopped` as the last of its signals. */
type ThreadSignal = { readonly kind: string };
type SignalOfWork<Signal> = Exclude<Signal, { readonly kind: 'ready' | 'stopped' }>;

export interface WorkerPlaceParts<Signal extends ThreadSignal> {
  readonly program: Parameters<typeof programUrl>[0];
  readonly workerData: unknown;
  readonly resourceLimits?: ResourceLimits;
  /** Whether a thread that had been up is also replaced only after the pause, like one that died before. */
  readonly pausesAlways?: boolean;
  /** A thread starts; orders sent from now on reach it. */
  onStarting?(): void;
  /** The thread is up, initially or as a replacement. It has nothing of its predecessor. */
  onReady(): void;
  onSignal(signal: SignalOfWork<Signal>): void;
  /** All other signals have arrived. */
  onStopped?(): void;
  /** The thread died. Another one is started, unless the place ends. */
  onDied(error: unknown): void;
}

/**
 * The place of one thread: Piscina owns the thread, in which one endless task works until its port is closed. A thread that dies is
 * replaced. Its orders and signals go through a port of its own, so that nothing of a dead thread reaches the next one.
 */
export class WorkerPlace<Order, Signal extends ThreadSignal> {
  readonly #parts: WorkerPlaceParts<Signal>;
  readonly #threads: Piscina<{ readonly port: MessagePort }, void>;
  #port: MessagePort | null = null;
  #abort = new AbortController();
  #isUp = false;
  #isEnding = false;
  #onFirstUp: () => void = () => {};
  #running: Promise<void> | null = null;

  constructor(parts: WorkerPlaceParts<Signal>) {
    const { program, workerData, resourceLimits } = parts;
    this.#parts = parts;
    this.#threads = new Piscina({
      filename: programUrl(program).href,
      minThreads: 1,
      maxThreads: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      // Piscina's own hand-over would stop the timers of an idle worker, which retries and requests depend on.
      atomics: 'disabled',
      maxQueue: 1,
      recordTiming: false,
      ...(resourceLimits !== undefined && { resourceLimits }),
      workerData,
    });
    this.#threads.on('error', () => {
      // The task's rejection reports the error.
    });
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Whether orders reach a thread, which may still be starting. */
  get isOpen(): boolean {
    return this.#port !== null;
  }

  /** Starts the first thread. Resolves when it is up; rejects when it dies before, and then starts no other one. */
  open(): Promise<void> {
    return new Promise<void>((up, failed) => {
      this.#onFirstUp = up;
      this.#running = this.#keepRunning(failed);
    });
  }

  /** Starts the first thread, and others until one is up. */
  start(): void {
    this.#running ??= this.#keepRunning(null);
  }

  /** Sends an order; returns false if no thread would receive it. */
  send(order: Order): boolean {
    this.#port?.postMessage(order);
    return this.#port !== null;
  }

  /** Terminates the thread; another one replaces it. Only for threads that do not have the store open. */
  restart(): void {
    this.#abort.abort();
  }

  /** Starts no further thread. The present one has to be ended by an order, or by `restart`. */
  end(): void {
    this.#isEnding = true;
  }

  /** Resolves when the last thread's task has ended. */
  async ended(): Promise<void> {
    await this.#running;
  }

  async destroy(): Promise<void> {
    await this.#threads.destroy();
  }

  async #keepRunning(onFirstFailed: ((error: unknown) => void) | null): Promise<void> {
    let wasEverUp = false;
    while (!this.#isEnding) {
      try {
        await this.#runOnce();
        this.#isUp = false;
      } catch (error) {
        const wasUp = this.#isUp;
        this.#isUp = false;
        wasEverUp ||= wasUp;
        if (!wasEverUp && onFirstFailed !== null) {
          onFirstFailed(error);
          void this.#threads.destroy();
          return;
        }
        this.#parts.onDied(error);
        if (this.#isEnding) return;
        if (!wasUp || this.#parts.pausesAlways === true) await sleep(RESTART_PAUSE_MS);
      }
    }
  }

  /** Resolves when the thread's task has ended; rejects when the thread dies. */
  async #runOnce(): Promise<void> {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#abort = new AbortController();
    port1.on('message', (signal: Signal) => {
      // Messages that the thread sent before it was abandoned are too late.
      if (this.#port === port1) this.#hear(signal, port1);
    });
    this.#parts.onStarting?.();
    try {
      await this.#threads.run({ port: port2 }, { transferList: [port2], signal: this.#abort.signal });
    } finally {
      this.#port = null;
      port1.close();
    }
  }

  #hear(signal: Signal, port: MessagePort): void {
    if (signal.kind === 'ready') {
      this.#isUp = true;
      this.#onFirstUp();
      this.#parts.onReady();
    } else if (signal.kind === 'stopped') {
      this.#parts.onStopped?.();
      // The task ends when its port is closed.
      port.close();
    } else this.#parts.onSignal(signal as SignalOfWork<Signal>);
  }
}
