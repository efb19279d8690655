/** Pure statistics over slices and runs. */

/** One slice of a stage and the mean of the neighbouring slices of its reference, each in µs per unit of work. */
export interface Slice {
  readonly ours: number;
  readonly reference: number;
}

/** Bounds of the amount by which a run may exceed its baseline. All values are relative: 0.05 means 5 %. */
export interface ToleranceRule {
  readonly floor: number;
  /** Tolerance above which a stage can no longer detect a slow-down of 15 %. */
  readonly ceiling: number;
}

/** Interpolates between the two nearest values. Returns NaN for an empty list. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  const at = (sorted.length - 1) * share;
  const [low, high] = [sorted[Math.floor(at)] ?? Number.NaN, sorted[Math.ceil(at)] ?? Number.NaN];
  return low + (high - low) * (at - Math.floor(at));
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Pairs each slice with the mean of the reference slices before and after it, so that a drift of the machine affects both. */
export function pairSlices(ours: readonly number[], references: readonly number[]): readonly Slice[] {
  return ours.map((one, n) => {
    const [before = Number.NaN, after = before] = references.slice(n, n + 2);
    return { ours: one, reference: (before + after) / 2 };
  });
}

/**
 * Computes the ratio of a stage to its reference: the median of the slices' ratios in each round, then the median of the rounds. A stalled
 * slice counts as one slice, and an unluckily compiled process as one round.
 */
export function ratioOf(rounds: readonly (readonly Slice[])[]): number {
  return median(rounds.map((slices) => median(slices.map(({ ours, reference }) => ours / reference))));
}

/** Estimates the standard deviation from the median absolute deviation, relative to the median. One outlier hardly changes it. */
export function robustSpread(values: readonly number[]): number {
  const middle = median(values);
  return (1.4826 * median(values.map((value) => Math.abs(value - middle)))) / middle;
}

/**
 * Choice: four standard deviations accept 999 of 1,000 runs of a normal distribution; ten runs show little of the tails, so the largest
 * observed deviation counts one and a half times.
 */
const SPREADS = 4;
const LARGEST_DEVIATIONS = 1.5;

/** Highest permitted ratio of a run to the baseline, above 1. */
export function toleranceOf(runs: readonly number[], { floor }: ToleranceRule): number {
  const largest = Math.max(...runs) / median(runs) - 1;
  return 1 + Math.max(floor, SPREADS * robustSpread(runs), LARGEST_DEVIATIONS * largest);
}
