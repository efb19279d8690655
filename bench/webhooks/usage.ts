import type { ChildProcess } from 'node:child_process';
import { mainThreadUs, ProcessorClock } from '../check/processor-time.ts';

/** Processor time of one process between two moments, µs. NaN where the system does not report it. */
export interface Used {
  readonly allUs: number;
  /** Part of `allUs` that the main thread used. */
  readonly mainUs: number;
}

/**
 * Measures the processor time that a process uses. On a machine that the server, its receiver and the source of its load share, a change of
 * the rate alone says nothing about which of them the work belongs to.
 */
export class Meter {
  readonly #pid: number;
  readonly #clock: ProcessorClock;
  #before: Used = { allUs: 0, mainUs: 0 };

  constructor({ pid }: ChildProcess) {
    this.#clock = new ProcessorClock(pid);
    this.#pid = pid ?? 0;
    this.lap();
  }

  /** Returns the processor time since the previous lap. */
  lap(): Used {
    const before = this.#before;
    this.#before = { allUs: this.#clock.readUs(), mainUs: mainThreadUs(this.#pid) };
    return { allUs: this.#before.allUs - before.allUs, mainUs: this.#before.mainUs - before.mainUs };
  }
}
