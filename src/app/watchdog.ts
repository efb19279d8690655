import { url as inspectorUrl } from 'node:inspector';
import { Worker } from 'node:worker_threads';
import { programUrl } from '../kernel/programs.ts';

/** `memory`: the number of beats of the main thread, and whether it is being debugged. */
export interface WatchdogData {
  readonly memory: SharedArrayBuffer;
  readonly observations: number;
  readonly everyMs: number;
  /** Whether a line is logged. */
  readonly isLogged: boolean;
}

/**
 * Choice: the longest turn of a healthy server takes some 0.2 s, so 30 s also suffice for a machine that is busy or short of memory; health
 * checks of balancers have given up long before. The thread counts observations instead of the time between two of them: what stops the
 * whole process (SIGSTOP, a machine that sleeps, a paused virtual machine) stops it too.
 */
const OBSERVATIONS = 30;
const EVERY_MS = 1_000;

/**
 * Starts a thread that ends this process by SIGALRM when the main thread has not turned for 30 s. A start has turns of any length
 * (migrations, large snapshots), so call this at its end. A paused debugger counts as turning.
 */
export function startWatchdog(isLogged: boolean, observations = OBSERVATIONS, everyMs = EVERY_MS): void {
  const memory = new SharedArrayBuffer(8);
  const words = new Int32Array(memory);
  const beat = (): void => {
    Atomics.add(words, 0, 1);
    Atomics.store(words, 1, inspectorUrl() === undefined ? 0 : 1);
  };
  beat();
  setInterval(beat, everyMs / 2).unref();
  const workerData: WatchdogData = { memory, observations, everyMs, isLogged };
  // Choice: the smallest heap in which the thread starts with room to spare.
  const resourceLimits = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 };
  new Worker(programUrl('watchdog'), { workerData, resourceLimits, execArgv: [] }).unref();
}
