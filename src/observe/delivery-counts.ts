import { BucketCounts } from '../kernel/bucket-counts.ts';

/** Upper bounds of the histogram of deliveries, seconds: the schedule ends at 19 s. */
const SECONDS_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

/** Counters of deliveries, for the metrics. */
export class DeliveryCounts {
  /** `succeeded` or an error code → attempts. */
  readonly attempts = new Map<string, number>();
  /** Final status → deliveries. */
  readonly ends = new Map<string, number>();
  /** From the decision to the receiver's response. */
  readonly seconds = new BucketCounts(SECONDS_BOUNDS);

  attempted(result: string): void {
    this.attempts.set(result, (this.attempts.get(result) ?? 0) + 1);
  }

  ended(status: string): void {
    this.ends.set(status, (this.ends.get(status) ?? 0) + 1);
  }
}
