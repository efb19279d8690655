import { median } from './report.ts';

/** Percentiles of one side in one phase, ms; or the ratios of two sides' percentiles. */
export interface Phase {
  readonly p50: number;
  readonly p99: number;
}

/**
 * Compares two servers at the same time; they take turns at being the one under examination. `run` measures both, in the order of `sides`.
 * Returns the medians of the phases' ratios and the number of phases.
 */
export async function compareBoth<Side>(
  sides: readonly Side[],
  rounds: number,
  run: (examined: Side) => Promise<readonly Phase[]>,
): Promise<Phase & { readonly phases: number }> {
  const ratios: Phase[] = [];
  for (let round = 0; round < rounds; round++)
    for (const examined of sides) {
      const phases = await run(examined);
      const [of, other] = examined === sides[0] ? phases : phases.toReversed();
      if (of !== undefined && other !== undefined) ratios.push({ p50: of.p50 / other.p50, p99: of.p99 / other.p99 });
    }
  const [p50, p99] = (['p50', 'p99'] as const).map((name) => median(ratios.map((ratio) => ratio[name])));
  return { p50: p50 ?? Number.NaN, p99: p99 ?? Number.NaN, phases: ratios.length };
}

/** Formats a ratio as a change in percent; negative for a decrease. */
export function changeOf(ratio: number): string {
  return `${(100 * (ratio - 1)).toFixed(0)} %`;
}
