import { Piscina } from 'piscina';
import { programUrl } from '../base/programs.ts';
import { BODY_READ_MS_MAX } from '../limits.ts';
import type { BodyTask, BodyWorkerData } from './body-messages.ts';

/** Choice: bodies of 1 MiB take some 40 MB while they are parsed; one that takes more ends its worker, not the process. */
const WORKER_HEAP_MIB_MAX = 256;
const WORKER_YOUNG_MIB_MAX = 16;
/** Choice: its 30 MB are given back when nobody has sent a large body for so long. */
const IDLE_MS = 60_000;

/**
 * Reads large request bodies in one worker. It starts with the first of them and holds nothing between two, so it may be ended from
 * outside: one body that takes too long ends it, and the next body starts another.
 */
export class BodyPool {
  readonly #threads: Piscina<BodyTask, unknown>;

  constructor(workerData: BodyWorkerData) {
    this.#threads = new Piscina<BodyTask, unknown>({
      filename: programUrl('read').href,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: IDLE_MS,
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

  /** What the reader of that name gave. Rejects when it takes too long or too much memory. One task at a time. */
  run(task: BodyTask): Promise<unknown> {
    const signal = AbortSignal.timeout(BODY_READ_MS_MAX);
    return this.#threads.run(task, { transferList: [task.body.buffer], signal });
  }

  async close(): Promise<void> {
    await this.#threads.destroy();
  }
}
