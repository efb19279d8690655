/** Pure statistics over slices, laps and runs. */

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

/**
 * Mean of the middle half of the values: as robust against outliers as the median, and it uses the other values too. Returns NaN for an
 * empty list.
 */
export function midMean(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const cut = Math.floor(sorted.length / 4);
  const middle = sorted.slice(cut, sorted.length - cut);
  return middle.reduce((sum, value) => sum + value, 0) / middle.length;
}

/** Divides each slice by the other process's slice of the same pass, which ran right before or after it. Returns their middle. */
export function lapRatio(ours: readonly number[], others: readonly number[]): number {
  return Math.exp(midMean(logRatios(ours, others)));
}

/** Ratio of a run, from the ratios of its laps: one lap with unluckily compiled processes does not decide it. */
export function runRatio(laps: readonly number[]): number {
  return Math.exp(midMean(laps.map(Math.log)));
}

/** Standard error of a mean of the middle half, relative to that of a mean of all values, for a normal distribution. */
const MID_MEAN_ERROR = 1.1;

/**
 * Standard error of a run's ratio: the larger one of what the slices and what the laps show. Slices show how busy the machine is, laps also
 * how much processes of one build differ.
 */
export function errorOf(laps: readonly LapSlices[]): number {
  const bySlices = laps.map(({ ours, others }) => errorOfMean(logRatios(ours, others)));
  const fromSlices = Math.hypot(...bySlices) / laps.length;
  const fromLaps =
    laps.length < LAPS_FOR_ERROR ? 0 : errorOfMean(laps.map((lap) => Math.log(lapRatio(lap.ours, lap.others))));
  return Math.max(fromSlices, fromLaps);
}

/** Costs of the slices of one lap. */
export interface LapSlices {
  readonly ours: readonly number[];
  readonly others: readonly number[];
}

/** Fewer laps show too little about the difference between them. */
const LAPS_FOR_ERROR = 3;

function errorOfMean(values: readonly number[]): number {
  const middle = median(values);
  // Estimates the standard deviation from the median deviation, which outliers hardly change.
  const deviation = 1.4826 * median(values.map((value) => Math.abs(value - middle)));
  return (MID_MEAN_ERROR * deviation) / Math.sqrt(values.length);
}

function logRatios(ours: readonly number[], others: readonly number[]): readonly number[] {
  return ours.map((one, n) => Math.log(one / (others[n] ?? Number.NaN)));
}

/** Choice: differences below 5 % may come from an irrelevant change that moves code in memory. */
const TOLERANCE_MIN = 0.05;
/**
 * Choice: a stage fails only after two measurements beyond its tolerance, so three standard deviations are enough. Ten runs show little of
 * the tails, so the largest deviation counts one and a quarter times.
 */
const DEVIATIONS = 3;
const LARGEST_DEVIATIONS = 1.25;

/**
 * Derives the highest permitted ratio from runs that compared a build with itself, whose true ratio is 1. The standard deviation is
 * estimated from the median deviation, which one outlier hardly changes.
 */
export function toleranceOf(runs: readonly number[]): number {
  const deviations = runs.map((ratio) => Math.abs(Math.log(ratio)));
  const deviation = 1.4826 * median(deviations);
  return 1 + Math.max(TOLERANCE_MIN, DEVIATIONS * deviation, LARGEST_DEVIATIONS * Math.max(...deviations));
}

/** Choice: 6 of 1,000 measurements of a normal distribution exceed it, and a stage fails only after two of them. */
const ERRORS = 2.5;

/** Tolerance of a run on this machine: a busy one needs more than the committed tolerance of the stage. */
export function runTolerance(committed: number, error: number): number {
  // Keeps NaN, which counts as slower.
  return Math.max(committed, 1 + ERRORS * error);
}
