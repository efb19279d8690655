import { MessageChannel } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { unreachable } from '../kernel/brand.ts';
import { programUrl } from '../kernel/programs.ts';
import {
  BATCHES_IN_FLIGHT_PER_WORKER,
  BATCH_REQUESTS_MAX,
  QUEUE_REQUESTS_MAX,
  REQUESTS_IN_FLIGHT_PER_WORKER,
  SIMULATION_FRAMES,
  WARM_UP_FRAMES,
} from '../kernel/limits.ts';
import { type BatchBuffer, createBatchBuffers } from './batch-buffer.ts';
import { createBatchQueueMemory, BatchSender } from './batch-queue.ts';
import type { ScorePost, ScoreSignal, ScoreTask, ScoreWorkerData } from './score-messages.ts';

export interface ScorePool {
  readonly frames: readonly BatchBuffer[];
  /**
   * Number of batch buffers reserved for the warm-up, at the end of the list: it runs alongside real requests, and no two batchers may
   * share a buffer.
   */
  readonly warmUpBatches?: number;
  /** Number of batch buffers reserved for simulations, before those of the warm-up. */
  readonly simulationBatches?: number;
  /** Maximum number of batches in flight. */
  readonly inFlightMax: number;
  /** See `BatcherOptions`. */
  readonly inFlightRequestsMax: number;
  /** Resolves when the answers are in the batch buffer; rejects when the worker failed to score it or died. */
  run(task: ScoreTask): Promise<void>;
  /** Returns whether no worker has a batch. Absent in pools without workers. */
  isIdle?(): boolean;
  /** Returns the number of batches that the main thread scored itself. Absent in a pool that hands over all of them. */
  inlineBatches?(): number;
  /** Marks the main thread as busy: it polls for answers at the end of this turn of the event loop, and until then no worker wakes it. */
  attend(): void;
  close(): Promise<void>;
}

export interface ScorePoolEvents {
  onError(error: unknown): void;
  /** A worker has ended, and another replaces it. */
  onWorkerEnded(threadId: number): void;
}

/** Choice: pause before a restart if the previous worker died before it was up. */
const RESTART_PAUSE_MS = 500;

/**
 * The score workers: Piscina owns their threads, in each of which one endless task processes batch buffers. Never terminated: ending a
 * worker from outside while it uses LMDB or ONNX can crash the process, so there are no abort signals, no idle time-out and no change in
 * their number. The buffers of a dead worker come back as failed, and Piscina starts another.
 * Measured: handing a batch over takes 9 µs, 7 µs with two in flight (bench/micro); one Piscina task per batch takes 20 to 55 µs. 33,000 →
 * 35,500 req/s (bench/decide).
 */
export async function openScorePool(
  workers: number,
  data: Omit<ScoreWorkerData, 'frames'>,
  events: ScorePoolEvents,
): Promise<ScorePool> {
  const inFlightMax = workers * BATCHES_IN_FLIGHT_PER_WORKER;
  // Batches in flight, full waiting ones, and one that is being filled.
  const served = inFlightMax + Math.ceil(QUEUE_REQUESTS_MAX / BATCH_REQUESTS_MAX) + 1;
  const count = served + SIMULATION_FRAMES + WARM_UP_FRAMES;
  const frames = createBatchBuffers(count);
  const pool = new BatchPool(workers, { ...data, frames }, events);
  await pool.open();
  return {
    frames,
    warmUpBatches: WARM_UP_FRAMES,
    simulationBatches: SIMULATION_FRAMES,
    inFlightMax,
    inFlightRequestsMax: workers * REQUESTS_IN_FLIGHT_PER_WORKER,
    run: (task) => pool.run(task),
    isIdle: () => pool.isIdle(),
    attend: () => pool.attend(),
    close: () => pool.close(),
  };
}

interface Waiting {
  resolve(): void;
  reject(error: Error): void;
}

class BatchPool {
  readonly #workers: number;
  readonly #events: ScorePoolEvents;
  readonly #threads: Piscina<ScorePost, void>;
  readonly #memory: SharedArrayBuffer;
  readonly #sender: BatchSender;
  /** Batch buffer → its waiting promise. */
  readonly #out = new Map<number, Waiting>();
  readonly #failures = new Map<number, string>();
  readonly #posts: Promise<void>[] = [];
  #owners = 0;
  #attending = false;
  #closing = false;

  constructor(workers: number, workerData: ScoreWorkerData, events: ScorePoolEvents) {
    this.#workers = workers;
    this.#events = events;
    this.#memory = createBatchQueueMemory(workerData.frames.length);
    this.#sender = new BatchSender(this.#memory);
    this.#threads = new Piscina<ScorePost, void>({
      filename: programUrl('score').href,
      minThreads: workers,
      maxThreads: workers,
      idleTimeout: Number.POSITIVE_INFINITY,
      // The endless task does not need Piscina's own hand-over, and the worker's event loop must run.
      atomics: 'disabled',
      maxQueue: workers,
      recordTiming: false,
      workerData,
    });
    this.#threads.on('error', (error) => events.onError(error));
  }

  /** Resolves when every worker is up; rejects when one cannot start. */
  async open(): Promise<void> {
    await Promise.all(
      Array.from({ length: this.#workers }, (_none, at) => {
        return new Promise<void>((ready, failed) => {
          this.#posts[at] = this.#keepPost(ready, failed);
        });
      }),
    );
  }

  run(task: ScoreTask): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#failures.delete(task.frame);
      this.#out.set(task.frame, { resolve, reject });
      this.#sender.send(task);
      this.attend();
    });
  }

  isIdle(): boolean {
    return this.#out.size === 0;
  }

  attend(): void {
    if (this.#attending) return;
    this.#attending = true;
    this.#sender.setAwake(true);
    setImmediate(this.#endOfTurn);
  }

  /**
   * Announces the sleep and polls again before sleeping: no worker wakes the main thread for an answer returned before the announcement.
   */
  readonly #endOfTurn = (): void => {
    this.#attending = false;
    if (this.#collect() > 0) this.attend();
    else {
      this.#sender.setAwake(false);
      if (this.#collect() > 0) this.attend();
    }
  };

  /** Settles the promises of returned buffers. Returns their number. */
  #collect(): number {
    let collected = 0;
    for (const [frame, waiting] of this.#out) {
      const state = this.#sender.take(frame);
      if (state === 'out') continue;
      collected++;
      this.#out.delete(frame);
      if (state === 'done') waiting.resolve();
      else waiting.reject(new Error(this.#takeFailure(frame)));
    }
    return collected;
  }

  #takeFailure(frame: number): string {
    const detail = this.#failures.get(frame) ?? 'a score worker failed to score a batch';
    this.#failures.delete(frame);
    return detail;
  }

  /** Keeps one worker running: restarts it until the pool is closed. */
  async #keepPost(ready: () => void, failed: (error: unknown) => void): Promise<void> {
    let wasReady = false;
    while (!this.#closing) {
      const owner = this.#owners++;
      const { port1, port2 } = new MessageChannel();
      let threadId = -1;
      port1.on('message', (message: ScoreSignal) => {
        switch (message.kind) {
          case 'ready':
            ({ threadId } = message);
            wasReady = true;
            ready();
            break;
          case 'wake':
            this.#collect();
            this.attend();
            break;
          case 'failed':
            this.#failures.set(message.frame, message.detail);
            break;
          default:
            unreachable(message);
        }
      });
      try {
        await this.#threads.run({ memory: this.#memory, owner, port: port2 }, { transferList: [port2] });
      } catch (error) {
        this.#bury(owner, threadId, error);
        if (!wasReady) {
          failed(error);
          return;
        }
        if (threadId < 0) await new Promise((done) => setTimeout(done, RESTART_PAUSE_MS));
      } finally {
        port1.close();
      }
    }
  }

  /** Handles a worker's death: the buffers it held come back as failed. */
  #bury(owner: number, threadId: number, error: unknown): void {
    this.#events.onError(error);
    if (threadId >= 0) this.#events.onWorkerEnded(threadId);
    for (const [frame, waiting] of this.#out) {
      if (!this.#sender.takeFromDead(frame, owner)) continue;
      this.#out.delete(frame);
      waiting.reject(new Error('a score worker died on a batch', { cause: error }));
    }
    // It may have died before it sent the wake that others rely on.
    this.attend();
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#sender.stop();
    await Promise.all(this.#posts);
    await this.#threads.close();
  }
}

/** Warm-up and real requests run at the same time, each with their own batch buffers. */
export function batchesOf(
  {
    frames,
    warmUpBatches = 0,
    simulationBatches = 0,
  }: Pick<ScorePool, 'frames' | 'warmUpBatches' | 'simulationBatches'>,
  isWarmUp: boolean,
): { readonly first: number; readonly end: number } {
  const warmUp = frames.length - warmUpBatches;
  if (isWarmUp && warmUpBatches > 0) return { first: warmUp, end: frames.length };
  return { first: 0, end: warmUp - simulationBatches };
}
