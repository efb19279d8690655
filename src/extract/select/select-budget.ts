/**
 * Choice: maximum number of steps that the fields of one page may take. A step is about the work of looking at one node.
 * Measured: 13 pairs of a page and selectors made to be slow end after 5 to 400 ms of processor time.
 */
export const SELECT_STEPS_MAX = 5_000_000;

/** Thrown when the selectors of one page have taken all its steps. */
export class SelectStepsSpent extends Error {}

/** Counts the remaining steps of one page. Counted instead of timed, so that a job ends in the same way on every machine. */
export class SelectBudget {
  #left = SELECT_STEPS_MAX;

  /** Begins a page. */
  reset(): void {
    this.#left = SELECT_STEPS_MAX;
  }

  /** Throws `SelectStepsSpent`. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0)
      throw new SelectStepsSpent(`The selectors take more than ${SELECT_STEPS_MAX} steps on one page.`);
  }

  get spent(): number {
    return SELECT_STEPS_MAX - this.#left;
  }
}
