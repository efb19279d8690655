import { readdirSync, readFileSync } from 'node:fs';
import { usageOf } from '../extract/usage.ts';

/**
 * Processor time of another process in nanoseconds' precision: `/proc/<pid>/stat` counts in hundredths of a second, which is several
 * percent of a short slice. Linux only.
 */
export class ProcessorClock {
  readonly #pid: number;
  /** Thread → ns at the last reading. Threads that ended keep what they had. */
  readonly #threads = new Map<string, number>();
  readonly #hasThreadTimes: boolean;

  constructor(pid: number | undefined) {
    if (pid === undefined) throw new Error('the process did not start');
    this.#pid = pid;
    this.#hasThreadTimes = nsOf(pid, String(pid)) !== null;
  }

  /** Since the process began, all threads, µs. NaN where the system does not tell. */
  readUs(): number {
    if (!this.#hasThreadTimes) return usageOf(this.#pid).cpuMs * 1_000;
    for (const thread of readdirSync(`/proc/${this.#pid}/task`)) {
      const ns = nsOf(this.#pid, thread);
      if (ns !== null) this.#threads.set(thread, ns);
    }
    let sum = 0;
    for (const ns of this.#threads.values()) sum += ns;
    return sum / 1_000;
  }
}

function nsOf(pid: number, thread: string): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
  } catch {
    return null;
  }
}
