import { MessageChannel } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { unreachable } from '../base/brand.ts';
import { programUrl } from '../base/programs.ts';
import { BATCHES_IN_FLIGHT_PER_WORKER, BATCH_REQUESTS_MAX, QUEUE_REQUESTS_MAX, WARM_UP_FRAMES } from '../limits.ts';
import { createFrame, type Frame } from './frame.ts';
import { createFrameQueueMemory, FrameSender } from './frame-queue.ts';
import type { ScorePost, ScoreSignal, ScoreTask, ScoreWorkerData } from './messages.ts';

export interface ScorePool {
  readonly frames: readonly Frame[];
  /** So many of them, the last ones, are for the warm-up: it runs beside real requests, and no two batchers may share a frame. */
  readonly warmUpFrames?: number;
  /** Batches that may be with workers at once. */
  readonly inFlightMax: number;
  /** Resolves when the answers stand in the frame; rejects when the worker failed with it or died. */
  run(task: ScoreTask): Promise<void>;
  /** The main thread is at work and looks for answers at the end of this turn: until then no worker wakes it. */
  attend(): void;
  close(): Promise<void>;
}

export interface ScorePoolEvents {
  onError(error: unknown): void;
  /** A worker has ended, and another takes its place. */
  onWorkerEnded(threadId: number): void;
}

/** Choice: how long a worker's place stays empty when its predecessor died before it was up. */
const RESTART_PAUSE_MS = 500;

/**
 * The score workers: Piscina keeps their threads, one endless task in each serves frames. Never terminated: a worker that holds
 * LMDB or ONNX and is ended from outside can take the process with it, so there are no abort signals, no idle time-out and no
 * change in their number. One that dies gives back what it held, and Piscina puts another in its place.
 * Measured: a hop of 9 µs, 7 µs with two in flight (bench/micro); a Piscina task each takes 20 to 55 µs. 33,000 → 35,500 req/s
 * (bench/decide).
 */
export async function openScorePool(
  workers: number,
  data: Omit<ScoreWorkerData, 'frames'>,
  events: ScorePoolEvents,
): Promise<ScorePool> {
  const inFlightMax = workers * BATCHES_IN_FLIGHT_PER_WORKER;
  // Those in flight, those that wait full, and one that is being filled.
  const count = inFlightMax + Math.ceil(QUEUE_REQUESTS_MAX / BATCH_REQUESTS_MAX) + 1 + WARM_UP_FRAMES;
  const frames = Array.from({ length: count }, createFrame);
  const pool = new FramePool(workers, { ...data, frames }, events);
  await pool.open();
  return {
    frames,
    warmUpFrames: WARM_UP_FRAMES,
    inFlightMax,
    run: (task) => pool.run(task),
    attend: () => pool.attend(),
    close: () => pool.close(),
  };
}

interface Waiting {
  resolve(): void;
  reject(error: Error): void;
}

class FramePool {
  readonly #workers: number;
  readonly #events: ScorePoolEvents;
  readonly #threads: Piscina<ScorePost, void>;
  readonly #memory: SharedArrayBuffer;
  readonly #sender: FrameSender;
  /** Frame → who waits for it. */
  readonly #out = new Map<number, Waiting>();
  readonly #failures = new Map<number, string>();
  readonly #posts: Promise<void>[] = [];
  #owners = 0;
  #attending = false;
  #closing = false;

  constructor(workers: number, workerData: ScoreWorkerData, events: ScorePoolEvents) {
    this.#workers = workers;
    this.#events = events;
    this.#memory = createFrameQueueMemory(workerData.frames.length);
    this.#sender = new FrameSender(this.#memory);
    this.#threads = new Piscina<ScorePost, void>({
      filename: programUrl('score').href,
      minThreads: workers,
      maxThreads: workers,
      idleTimeout: Number.POSITIVE_INFINITY,
      // The endless task needs none of Piscina's own hand-over, and the worker's event loop has to turn.
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

  attend(): void {
    if (this.#attending) return;
    this.#attending = true;
    this.#sender.setAwake(true);
    setImmediate(this.#endOfTurn);
  }

  /** Goes to sleep only when a look after having said so finds nothing: an answer between the two would be missed. */
  readonly #endOfTurn = (): void => {
    this.#attending = false;
    if (this.#collect() > 0) this.attend();
    else {
      this.#sender.setAwake(false);
      if (this.#collect() > 0) this.attend();
    }
  };

  /** Settles what came back. */
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
    const detail = this.#failures.get(frame) ?? 'a score worker failed with a batch';
    this.#failures.delete(frame);
    return detail;
  }

  /** One worker's place: posts a worker there again and again until the end. */
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

  /** The worker is dead: what it held comes back as failed. */
  #bury(owner: number, threadId: number, error: unknown): void {
    this.#events.onError(error);
    if (threadId >= 0) this.#events.onWorkerEnded(threadId);
    for (const [frame, waiting] of this.#out) {
      if (!this.#sender.takeFromDead(frame, owner)) continue;
      this.#out.delete(frame);
      waiting.reject(new Error('a score worker died on a batch', { cause: error }));
    }
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#sender.stop();
    await Promise.all(this.#posts);
    await this.#threads.close();
  }
}
