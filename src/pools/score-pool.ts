import { Piscina } from 'piscina';
import { BATCHES_IN_FLIGHT_PER_WORKER, BATCH_REQUESTS_MAX, QUEUE_REQUESTS_MAX } from '../limits.ts';
import { createFrame, type Frame } from './frame.ts';
import type { ScoreTask, ScoreWorkerData } from './messages.ts';

export interface ScorePool {
  readonly frames: readonly Frame[];
  /** Batches that may be with workers at once. */
  readonly inFlightMax: number;
  /** Resolves when the answers stand in the frame; rejects when the worker failed with it or died. */
  run(task: ScoreTask): Promise<void>;
  close(): Promise<void>;
}

/**
 * The score workers. Never terminated: a worker that holds LMDB or ONNX and is ended from outside can take the process with it,
 * so there are no abort signals, no idle time-out and no change in their number. A worker that dies is replaced by Piscina.
 */
export async function openScorePool(
  workers: number,
  data: Omit<ScoreWorkerData, 'frames'>,
  onWorkerError: (error: unknown) => void,
): Promise<ScorePool> {
  const inFlightMax = workers * BATCHES_IN_FLIGHT_PER_WORKER;
  // Those in flight, those that wait full, and one that is being filled.
  const count = inFlightMax + Math.ceil(QUEUE_REQUESTS_MAX / BATCH_REQUESTS_MAX) + 1;
  const frames = Array.from({ length: count }, createFrame);
  const workerData: ScoreWorkerData = { ...data, frames };
  const pool = new Piscina<ScoreTask, void>({
    filename: new URL('../../workers/score.js', import.meta.url).href,
    minThreads: workers,
    maxThreads: workers,
    idleTimeout: Number.POSITIVE_INFINITY,
    concurrentTasksPerWorker: BATCHES_IN_FLIGHT_PER_WORKER,
    // Measured: 33,000 → 35,400 req/s against 'async' (bench/decide), which wakes a worker twice for each task; and the worker's
    // event loop stays free for swaps of layers.
    atomics: 'disabled',
    maxQueue: inFlightMax,
    recordTiming: false,
    workerData,
  });
  pool.on('error', onWorkerError);
  // One empty task for each place brings every worker up before the first request.
  await Promise.all(Array.from({ length: inFlightMax }, () => pool.run({ frame: 0, from: 0, count: 0 })));
  return {
    frames,
    inFlightMax,
    run: (task) => pool.run(task),
    close: () => pool.close(),
  };
}
