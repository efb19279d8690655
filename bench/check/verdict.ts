import type { Stage } from './stage.ts';

/** Verdict on one stage of a run. `ratio`: cost of this build divided by that of the reference; above 1 is slower. */
export type Verdict =
  | { readonly kind: 'fine' | 'slower' | 'faster'; readonly ratio: number; readonly tolerance: number }
  | { readonly kind: 'not judged' };

/** `ratio` is null without a reference. A stage without a known tolerance counts as slower, so that it cannot pass unnoticed. */
export function judge(ratio: number | null, tolerance: number): Verdict {
  if (ratio === null) return { kind: 'not judged' };
  // Written as a negation so that NaN does not pass as fine.
  if (!(ratio <= tolerance)) return { kind: 'slower', ratio, tolerance };
  return { kind: ratio < 1 / tolerance ? 'faster' : 'fine', ratio, tolerance };
}

/** Above it, a slow-down of 15 % may pass. */
export const TOLERANCE_MAX = 1.1;

/** Returns the line that names the stages whose tolerance is too large on this machine, or null when there are none. */
export function busyLine(judged: readonly (readonly [Stage, Verdict])[]): string | null {
  const wide = judged.filter(([, verdict]) => verdict.kind !== 'not judged' && verdict.tolerance > TOLERANCE_MAX);
  if (wide.length === 0) return null;
  return `BUSY MACHINE: ${wide.map(([{ title }]) => title).join(', ')}: the tolerance is above ${TOLERANCE_MAX.toFixed(2)}, so a slow-down of 15 % may pass here`;
}

/** Returns the line printed below the table for a stage, or null when there is nothing to report. */
export function lineOf({ title, lookAt }: Stage, verdict: Verdict): string | null {
  if (verdict.kind === 'not judged' || verdict.kind === 'fine') return null;
  const change = `${title}: ${verdict.ratio.toFixed(2)} times the reference`;
  if (verdict.kind === 'slower')
    return `SLOWER: ${change} (tolerance ${verdict.tolerance.toFixed(2)}): look at ${lookAt}`;
  return `FASTER: ${change}: name a commit with the gain in bench/check/reference.json, or a later slow-down hides behind it`;
}
