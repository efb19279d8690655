/** Choice: a source that asks for another pause after that would ask forever. */
const TIMES_MAX = 3;
/** Choice: in total. For a source that asks for more, the customer should start another job later. */
const WAITED_MS_MAX = 3_600_000;

/** Steps of one job that were postponed because their source asked for a pause, with the total time of their pauses. */
export class Postponed {
  readonly #steps = new Map<number, { times: number; waitedMs: number }>();

  /** Returns whether the step may be postponed again for this long, and counts it if so. */
  take(step: number, waitMs: number): boolean {
    const { times, waitedMs } = this.#steps.get(step) ?? { times: 0, waitedMs: 0 };
    if (times >= TIMES_MAX || waitedMs + waitMs > WAITED_MS_MAX) return false;
    this.#steps.set(step, { times: times + 1, waitedMs: waitedMs + waitMs });
    return true;
  }

  /** Call when the step is done. */
  delete(step: number): void {
    this.#steps.delete(step);
  }
}
