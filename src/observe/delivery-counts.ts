/** Upper bounds of the histogram of deliveries, seconds: the schedule ends at 19 s. */
const SECONDS_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

/** All counts as plain values, for a message to another thread. */
export interface DeliveryCountsSnapshot {
  readonly attempts: readonly (readonly [string, number])[];
  readonly ends: readonly (readonly [string, number])[];
  readonly seconds: readonly number[];
  readonly secondsSum: number;
}

/** Counters of deliveries, for the metrics. */
export class DeliveryCounts {
  /** `succeeded` or an error code → attempts. */
  readonly attempts = new Map<string, number>();
  /** Final status → deliveries. */
  readonly ends = new Map<string, number>();
  /** One more than there are bounds. */
  readonly #seconds = new Float64Array(SECONDS_BOUNDS.length + 1);
  #secondsSum = 0;

  attempted(result: string): void {
    this.attempts.set(result, (this.attempts.get(result) ?? 0) + 1);
  }

  ended(status: string): void {
    this.ends.set(status, (this.ends.get(status) ?? 0) + 1);
  }

  /** Counts the time from the decision to the receiver's response. */
  delivered(seconds: number): void {
    let at = 0;
    while (at < SECONDS_BOUNDS.length && seconds > (SECONDS_BOUNDS[at] ?? 0)) at++;
    this.#seconds[at] = (this.#seconds[at] ?? 0) + 1;
    this.#secondsSum += seconds;
  }

  snapshot(): DeliveryCountsSnapshot {
    return {
      attempts: [...this.attempts],
      ends: [...this.ends],
      seconds: [...this.#seconds],
      secondsSum: this.#secondsSum,
    };
  }

  /** Adds the counts of an ended thread. */
  add({ attempts, ends, seconds, secondsSum }: DeliveryCountsSnapshot): void {
    for (const [result, count] of attempts) this.attempts.set(result, (this.attempts.get(result) ?? 0) + count);
    for (const [status, count] of ends) this.ends.set(status, (this.ends.get(status) ?? 0) + count);
    for (const [at, count] of seconds.entries()) this.#seconds[at] = (this.#seconds[at] ?? 0) + count;
    this.#secondsSum += secondsSum;
  }
}

export function histogramOf({ seconds, secondsSum }: DeliveryCountsSnapshot): {
  bounds: readonly number[];
  counts: ArrayLike<number>;
  sum: number;
} {
  return { bounds: SECONDS_BOUNDS, counts: seconds, sum: secondsSum };
}
