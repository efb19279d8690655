import Table from 'cli-table3';
import type { StageRun } from './baseline.ts';
import type { Measured, Stage } from './stage.ts';
import { median, ratioOf } from './statistics.ts';
import type { Verdict } from './verdict.ts';

/** Result of one run of one stage, with the data it was computed from. */
export interface StageResult extends StageRun {
  readonly stage: Stage;
  readonly oursUs: number;
  /** Ratio by the wall clock; informational, never judged. */
  readonly wallRatio: number | null;
  /** Ratio of each single round: shows whether the noise is between processes or between slices. */
  readonly roundRatios: readonly number[];
  readonly notes: readonly string[];
}

export function resultOf(stage: Stage, { rounds, wall, notes = [] }: Measured): StageResult {
  const slices = rounds.flat();
  return {
    stage,
    ratio: ratioOf(rounds),
    oursUs: median(slices.map(({ ours }) => ours)),
    referenceUs: median(slices.map(({ reference }) => reference)),
    wallRatio: wall === null ? null : ratioOf(wall),
    slices: slices.length,
    roundRatios: rounds.map((round) => ratioOf([round])),
    notes,
  };
}

export interface Row {
  readonly result: StageResult;
  readonly verdict: Verdict;
}

/** All verdicts use processor time, except p99, which uses the wall clock. The last ratio column is not judged. */
export function tableOf(rows: readonly Row[]): string {
  const right = Array.from({ length: 7 }, () => 'right' as const);
  const table = new Table({
    head: ['stage', 'µs', 'reference µs', 'ratio', 'of baseline', 'tolerance', 'slices', 'wall ratio', ''],
    colAligns: ['left', ...right, 'left'],
    style: { head: [], border: [], compact: true },
  });
  for (const { result, verdict } of rows) {
    const { stage, oursUs, referenceUs, ratio, slices, wallRatio } = result;
    const compared = verdict.kind === 'no baseline' ? ['–', '–'] : [times(verdict.change), times(verdict.tolerance)];
    table.push([
      stage.title,
      figure(oursUs),
      figure(referenceUs),
      times(ratio),
      ...compared,
      slices,
      wallRatio === null ? '–' : times(wallRatio),
      verdict.kind,
    ]);
  }
  return table.toString();
}

/** Machine-readable form of the table. */
export function jsonOf(rows: readonly Row[]): object {
  return {
    at: new Date().toISOString(),
    node: process.version,
    stages: rows.map(({ result: { stage, oursUs, referenceUs, wallRatio, ratio, slices, roundRatios }, verdict }) => ({
      id: stage.id,
      unit: stage.unit,
      judged: stage.judged,
      ours_us: oursUs,
      reference: stage.reference,
      reference_us: referenceUs,
      ratio,
      wall_ratio: wallRatio,
      slices,
      round_ratios: roundRatios,
      verdict: verdict.kind,
      ...(verdict.kind !== 'no baseline' && { change: verdict.change, tolerance: verdict.tolerance }),
    })),
  };
}

function times(value: number): string {
  return value.toFixed(3);
}

function figure(us: number): string {
  return us < 100 ? us.toFixed(2) : us.toFixed(0);
}
