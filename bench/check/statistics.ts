/** Pure statistics of slices and runs. */

/** One slice of a stage and the slices of its reference around it, each in µs per unit of work. */
export interface Slice {
  readonly ours: number;
  readonly reference: number;
}

/** What a baseline is allowed to be exceeded by. All relative: 0.05 means 5 %. */
export interface ToleranceRule {
  readonly floor: number;
  /** Tolerance above which a stage can no longer show a slow-down of 15 %. */
  readonly ceiling: number;
}

/** Between the two nearest values; NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  const at = (sorted.length - 1) * share;
  const [low, high] = [sorted[Math.floor(at)] ?? Number.NaN, sorted[Math.ceil(at)] ?? Number.NaN];
  return low + (high - low) * (at - Math.floor(at));
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Pairs each slice with the mean of the reference's slices before and after it, so that a machine that drifts does so for both. */
export function pairSlices(ours: readonly number[], references: readonly number[]): readonly Slice[] {
  return ours.map((one, n) => {
    const [before = Number.NaN, after = before] = references.slice(n, n + 2);
    return { ours: one, reference: (before + after) / 2 };
  });
}

/**
 * The ratio of a stage to its reference: the median of the slices' ratios in each round, then the median of the rounds. A stalled
 * slice counts as one slice, and a process that was compiled unluckily as one round.
 */
export function ratioOf(rounds: readonly (readonly Slice[])[]): number {
  return median(rounds.map((slices) => median(slices.map(({ ours, reference }) => ours / reference))));
}

/** Standard deviation estimated from the median absolute deviation, relative to the median: one wild run hardly changes it. */
export function robustSpread(values: readonly number[]): number {
  const middle = median(values);
  return (1.4826 * median(values.map((value) => Math.abs(value - middle)))) / middle;
}

/**
 * Choice: four standard deviations pass 999 of 1,000 runs of a normal spread; since ten runs show little of the tails, the largest
 * deviation seen counts half as much again.
 */
const SPREADS = 4;
const LARGEST_DEVIATIONS = 1.5;

/** How many times the baseline a run may be: above 1. */
export function toleranceOf(runs: readonly number[], { floor }: ToleranceRule): number {
  const largest = Math.max(...runs) / median(runs) - 1;
  return 1 + Math.max(floor, SPREADS * robustSpread(runs), LARGEST_DEVIATIONS * largest);
}
