/**
 * The time by which something may be forgotten. It follows a wall clock: at once if that clock is set back, and after `holdSeconds` if it
 * is set forward and stays there. So nothing is forgotten early because the machine's clock was wrong for a while.
 *
 * It is the running time plus the smallest difference of the two clocks in the last one to two times `holdSeconds`.
 */
export class SettledSeconds {
  readonly #holdSeconds: number;
  readonly #runningMs: () => number;
  #since = Number.NEGATIVE_INFINITY;
  /** Smallest differences of the previous period and of this one. */
  #before = Number.POSITIVE_INFINITY;
  #current = Number.POSITIVE_INFINITY;

  /** `runningMs` is a monotonic clock. */
  constructor(holdSeconds: number, runningMs: () => number = () => performance.now()) {
    this.#holdSeconds = holdSeconds;
    this.#runningMs = runningMs;
  }

  /** Must be called at least once per `holdSeconds`. `nowSeconds` is the wall clock. */
  at(nowSeconds: number): number {
    const runningSeconds = Math.floor(this.#runningMs() / 1_000);
    const difference = nowSeconds - runningSeconds;
    if (runningSeconds - this.#since >= this.#holdSeconds) {
      this.#since = runningSeconds;
      this.#before = this.#current;
      this.#current = difference;
    } else this.#current = Math.min(this.#current, difference);
    return runningSeconds + Math.min(this.#before, this.#current);
  }
}
