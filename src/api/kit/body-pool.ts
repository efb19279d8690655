import { Piscina } from 'piscina';
import { programUrl } from '../../kernel/programs.ts';
import { BODY_READ_MS_MAX } from '../../kernel/limits.ts';
import type { BodyTask, BodyWorkerData } from './body-messages.ts';

/**
 * Choice: bodies of 1 MiB take some 40 MB while they are parsed; a body that takes more than the limit ends its worker, not the process.
 */
const WORKER_HEAP_MIB_MAX = 256;
const WORKER_YOUNG_MIB_MAX = 16;
/** Choice: the worker's 30 MB are released after no large body has arrived for this long. */
const IDLE_MS = 60_000;

/**
 * Parses large request bodies in one worker. The worker starts with the first body and keeps no state between two, so it may be terminated:
 * a body that takes too long ends it, and the next body starts another.
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
      // The task's rejection reports the error.
    });
  }

  /** Returns the result of the task's reader. Rejects when it takes too long or too much memory. One task at a time. */
  run(task: BodyTask): Promise<unknown> {
    const signal = AbortSignal.timeout(BODY_READ_MS_MAX);
    return this.#threads.run(task, { transferList: [task.body.buffer], signal });
  }

  async close(): Promise<void> {
    await this.#threads.destroy();
  }
}
