import Table from 'cli-table3';
import type { Cost } from './interleave.ts';
import type { Measured, StageLap } from './laps.ts';
import type { Stage } from './stage.ts';
import { errorOf, lapRatio, type LapSlices, median, runRatio } from './statistics.ts';
import type { Verdict } from './verdict.ts';

/** Result of one run of one stage. */
export interface StageResult {
  readonly stage: Stage;
  /** Processor time per unit, µs; null for the reference where there is none. */
  readonly oursUs: number;
  readonly referenceUs: number | null;
  /** Processor time of this build divided by the reference's. */
  readonly ratio: number | null;
  /** Standard error of `ratio`, relative. */
  readonly error: number | null;
  /** The same by the wall clock; informational, never judged. */
  readonly wallRatio: number | null;
  /** Processor time of this build divided by a bare echo server's; null for stages without one. */
  readonly echoRatio: number | null;
  /** Ratio of each lap: shows how much processes of the same builds differ. */
  readonly lapRatios: readonly number[];
}

type Of = (cost: Cost) => number;
const processor: Of = ({ processorUs }) => processorUs;
const wall: Of = ({ wallUs }) => wallUs;

export function resultOf({ stage, laps }: Measured): StageResult {
  const perUnit = (costs: readonly (readonly Cost[] | null)[]): number | null => {
    const all = costs.flatMap((lap) => lap ?? []).map((cost) => cost.processorUs / stage.units);
    return all.length === 0 ? null : median(all);
  };
  const lapRatios = ratiosOf(laps, 'reference', processor);
  return {
    stage,
    oursUs: perUnit(laps.map(({ ours }) => ours)) ?? Number.NaN,
    referenceUs: perUnit(laps.map(({ reference }) => reference)),
    ratio: ratioOrNull(lapRatios),
    error: lapRatios.length === 0 ? null : errorOf(slicesOf(laps, 'reference', processor)),
    wallRatio: ratioOrNull(ratiosOf(laps, 'reference', wall)),
    echoRatio: ratioOrNull(ratiosOf(laps, 'echo', processor)),
    lapRatios,
  };
}

function ratiosOf(laps: readonly StageLap[], other: 'reference' | 'echo', of: Of): readonly number[] {
  return slicesOf(laps, other, of).map(({ ours, others }) => lapRatio(ours, others));
}

function slicesOf(laps: readonly StageLap[], other: 'reference' | 'echo', of: Of): readonly LapSlices[] {
  return laps.flatMap((lap) => {
    const others = lap[other];
    return others === null ? [] : [{ ours: lap.ours.map(of), others: others.map(of) }];
  });
}

function ratioOrNull(ratios: readonly number[]): number | null {
  return ratios.length === 0 ? null : runRatio(ratios);
}

export interface Row {
  readonly result: StageResult;
  readonly verdict: Verdict;
}

/** All verdicts use processor time. The wall-clock ratio and the ratio to the echo server are not judged. */
export function tableOf(rows: readonly Row[]): string {
  const right = Array.from({ length: 8 }, () => 'right' as const);
  const head = ['stage', 'µs', 'reference µs', 'ratio', 'tolerance', 'error', 'laps', 'wall ratio', '/ echo', ''];
  const table = new Table({
    head,
    colAligns: ['left', ...right, 'left'],
    style: { head: [], border: [], compact: true },
  });
  for (const { result, verdict } of rows) {
    const { stage, oursUs, referenceUs, ratio, error, wallRatio, echoRatio, lapRatios } = result;
    table.push([
      stage.title,
      figure(oursUs),
      referenceUs === null ? '–' : figure(referenceUs),
      times(ratio),
      verdict.kind === 'not judged' ? '–' : times(verdict.tolerance),
      error === null ? '–' : `± ${(100 * error).toFixed(1)} %`,
      lapRatios.length,
      times(wallRatio),
      echoRatio === null ? '–' : echoRatio.toFixed(2),
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
    stages: rows.map(({ result, verdict }) => ({
      id: result.stage.id,
      unit: result.stage.unit,
      ours_us: result.oursUs,
      reference_us: result.referenceUs,
      ratio: result.ratio,
      error: result.error,
      wall_ratio: result.wallRatio,
      echo_ratio: result.echoRatio,
      lap_ratios: result.lapRatios,
      verdict: verdict.kind,
      ...(verdict.kind !== 'not judged' && { tolerance: verdict.tolerance }),
    })),
  };
}

function times(value: number | null): string {
  return value === null ? '–' : value.toFixed(3);
}

function figure(us: number): string {
  return us < 100 ? us.toFixed(2) : us.toFixed(0);
}
