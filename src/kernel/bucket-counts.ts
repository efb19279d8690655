/** Counts of values in buckets, as a histogram of the metrics has them. */
export class BucketCounts {
  /** Upper bounds, ascending. */
  readonly bounds: readonly number[];
  /** One more than there are bounds: the last one counts values above all bounds. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  add(value: number): void {
    this.sum += value;
    let at = 0;
    while (at < this.bounds.length && value > (this.bounds[at] ?? 0)) at++;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
  }
}
