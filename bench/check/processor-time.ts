import { readdirSync, readFileSync } from 'node:fs';
import { usageOf } from '../extract/usage.ts';

/**
 * Processor time of another process with nanosecond precision. `/proc/<pid>/stat` counts in hundredths of a second, which is several
 * percent of a short slice. Linux only.
 */
export class ProcessorClock {
  readonly #pid: number;
  /** Thread → ns at the last reading. Keeps the entries of threads that ended. */
  readonly #threads = new Map<string, number>();
  readonly #hasThreadTimes: boolean;

  constructor(pid: number | undefined) {
    if (pid === undefined) throw new Error('the process did not start');
    this.#pid = pid;
    this.#hasThreadTimes = nsOf(pid, String(pid)) !== null;
  }

  /**
   * Returns the processor time of all threads since the process began, µs. Returns the last reading for a process that has ended, and NaN
   * where the system does not report it.
   */
  readUs(): number {
    if (!this.#hasThreadTimes) return usageOf(this.#pid).cpuMs * 1_000;
    for (const thread of threadsOf(this.#pid)) {
      const ns = nsOf(this.#pid, thread);
      if (ns !== null) this.#threads.set(thread, ns);
    }
    let sum = 0;
    for (const ns of this.#threads.values()) sum += ns;
    return sum / 1_000;
  }
}

/** Returns the processor time of the main thread since the process began, µs; NaN where the system does not report it. */
export function mainThreadUs(pid: number): number {
  return (nsOf(pid, String(pid)) ?? NaN) / 1_000;
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function nsOf(pid: number, thread: string): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
  } catch {
    return null;
  }
}
