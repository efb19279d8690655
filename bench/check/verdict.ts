import type { Baseline, StageBaseline, StageRun } from './baseline.ts';
import type { Stage } from './stage.ts';

/** Verdict on one stage of a run. `change`: ratio of the run to its baseline; above 1 is slower. */
export type Verdict =
  | { readonly kind: 'fine' | 'slower' | 'faster'; readonly change: number; readonly tolerance: number }
  | { readonly kind: 'no baseline' };

export function judge({ ratio }: StageRun, baseline: StageBaseline | undefined): Verdict {
  if (baseline === undefined) return { kind: 'no baseline' };
  const { tolerance } = baseline;
  const change = ratio / baseline.ratio;
  // Written as a negation so that NaN does not pass as fine.
  if (!(change <= tolerance)) return { kind: 'slower', change, tolerance };
  return { kind: change < 1 / tolerance ? 'faster' : 'fine', change, tolerance };
}

/** Returns whether a verdict ends the check with 1. NaN counts as a failure. */
export function fails(verdict: Verdict, failFrom: number): boolean {
  return verdict.kind === 'slower' && !(verdict.change < failFrom);
}

/** Returns the line printed below the table for a stage, or null when there is nothing to report. */
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

/** Returns the remark for a processor without a baseline. */
export function noBaselineLine(processor: string, known: readonly string[]): string {
  return `NOT JUDGED: there is no baseline for ${processor} (existing ones: ${known.join('; ') || 'none'}), and ratios differ between processors. Write one with --write-baseline.`;
}

/** A reference that is slower or faster than the baseline's by this factor indicates a very busy machine. */
const BUSY_MACHINE = 1.5;

/** Returns remarks that do not change the verdict: the baseline comes from another Node.js version, or the machine is busy. */
export function remarks(
  baseline: Baseline,
  nodeVersion: string,
  runs: readonly (readonly [stage: Stage, run: StageRun])[],
): readonly string[] {
  const said: string[] = [];
  if (majorOf(baseline.node) !== majorOf(nodeVersion))
    said.push(
      `The baseline was taken on Node.js ${baseline.node}; this run uses ${nodeVersion}, so ratios may differ.`,
    );
  const other = runs.filter(([{ id }, { referenceUs }]) => {
    const factor = referenceUs / (baseline.stages[id]?.reference_us ?? referenceUs);
    return factor > BUSY_MACHINE || factor < 1 / BUSY_MACHINE;
  });
  if (other.length > 0)
    said.push(
      `The references of ${other.map(([{ title }]) => title).join(', ')} differ a lot from the baseline's: the machine is busy now or was busy then, so ratios may differ.`,
    );
  return said;
}

function majorOf(version: string): string {
  return /^v?(\d+)/.exec(version)?.[1] ?? version;
}
