import type { Baseline, StageBaseline, StageRun } from './baseline.ts';
import type { Stage } from './stage.ts';

/** What a run says of a stage. `change`: how many times its baseline it is; above 1 is slower. */
export type Verdict =
  | { readonly kind: 'fine' | 'slower' | 'faster'; readonly change: number; readonly tolerance: number }
  | { readonly kind: 'no baseline' };

export function judge({ ratio }: StageRun, baseline: StageBaseline | undefined): Verdict {
  if (baseline === undefined) return { kind: 'no baseline' };
  const { tolerance } = baseline;
  const change = ratio / baseline.ratio;
  // What cannot be compared must not pass as fine.
  if (!(change <= tolerance)) return { kind: 'slower', change, tolerance };
  return { kind: change < 1 / tolerance ? 'faster' : 'fine', change, tolerance };
}

/** The line that stands for a stage below the table; null where there is nothing to say. */
export function lineOf(stage: Stage, verdict: Verdict): string | null {
  switch (verdict.kind) {
    case 'fine':
      return null;
    case 'no baseline':
      return `NO BASELINE: ${stage.title}: write one with --write-baseline --stages ${stage.id}`;
    case 'faster':
      return `FASTER: ${stage.title}: ${verdict.change.toFixed(2)} times the baseline: renew it with --write-baseline --stages ${stage.id}, or a later slow-down hides behind the gain`;
    case 'slower':
      return `SLOWER: ${stage.title}: ${verdict.change.toFixed(2)} times the baseline (tolerance ${verdict.tolerance.toFixed(2)}): look at ${stage.lookAt}`;
  }
}

/** A reference this many times slower or faster than the baseline's means another kind of machine, or a very busy one. */
const OTHER_MACHINE = 1.5;

/** Remarks that do not change the verdict: the baseline comes from another Node.js, or from another kind of machine. */
export function remarks(
  baseline: Baseline | null,
  nodeVersion: string,
  runs: readonly (readonly [stage: Stage, run: StageRun])[],
): readonly string[] {
  if (baseline === null) return [];
  const said: string[] = [];
  if (majorOf(baseline.node) !== majorOf(nodeVersion))
    said.push(`The baseline was taken on Node.js ${baseline.node}, this is ${nodeVersion}: ratios may differ.`);
  const other = runs.filter(([{ id }, { referenceUs }]) => {
    const factor = referenceUs / (baseline.stages[id]?.reference_us ?? referenceUs);
    return factor > OTHER_MACHINE || factor < 1 / OTHER_MACHINE;
  });
  if (other.length > 0)
    said.push(
      `The references of ${other.map(([{ title }]) => title).join(', ')} differ a lot from the baseline's (${baseline.processor}): another kind of machine or a busy one, where ratios may differ.`,
    );
  return said;
}

function majorOf(version: string): string {
  return /^v?(\d+)/.exec(version)?.[1] ?? version;
}
