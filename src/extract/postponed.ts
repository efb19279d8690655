/** Choice: a source that asks for it once more after that asks for ever. */
const TIMES_MAX = 3;
/** Choice: in all; a source that asks for more is one to come back to with another job. */
const WAITED_MS_MAX = 3_600_000;

/** Of one job: the steps that were put off because their source asked to be left alone, and for how long. */
export class Postponed {
  readonly #steps = new Map<number, { times: number; waitedMs: number }>();

  /** Whether the step may be put off once more, for so long; then it counts. */
  take(step: number, waitMs: number): boolean {
    const { times, waitedMs } = this.#steps.get(step) ?? { times: 0, waitedMs: 0 };
    if (times >= TIMES_MAX || waitedMs + waitMs > WAITED_MS_MAX) return false;
    this.#steps.set(step, { times: times + 1, waitedMs: waitedMs + waitMs });
    return true;
  }

  /** The step is done. */
  delete(step: number): void {
    this.#steps.delete(step);
  }
}
