import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import type { Stage } from './stage.ts';
import { median, robustSpread, toleranceOf } from './statistics.ts';

/** What a stage was when the baseline was written. */
export interface StageBaseline {
  /** Median of the runs. */
  readonly ratio: number;
  /** How many times the ratio a run may be. */
  readonly tolerance: number;
  /** Robust standard deviation of the runs, relative. */
  readonly spread: number;
  /** µs of the reference per unit: tells a different kind of machine. */
  readonly reference_us: number;
  readonly slices: number;
  readonly runs: readonly number[];
}

export interface Baseline {
  readonly at: string;
  readonly node: string;
  readonly processor: string;
  readonly form: string;
  readonly stages: Readonly<Record<string, StageBaseline>>;
}

/** One run of one stage. */
export interface StageRun {
  readonly ratio: number;
  readonly referenceUs: number;
  readonly slices: number;
}

/** From `dist/bench/check` to the committed file. */
export const BASELINE_FILE = new URL('../../../bench/check/baseline.json', import.meta.url).pathname;

export function readBaseline(file: string): Baseline | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Baseline;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Stages that were not measured keep what the file has of them. */
export function writeBaseline(file: string, form: string, stages: Readonly<Record<string, StageBaseline>>): void {
  const baseline: Baseline = {
    at: new Date().toISOString(),
    node: process.version,
    processor: processorName(),
    form,
    stages: { ...readBaseline(file)?.stages, ...stages },
  };
  writeFileSync(file, `${JSON.stringify(baseline, null, 2)}\n`);
}

export function baselineOf(stage: Stage, runs: readonly StageRun[]): StageBaseline {
  const ratios = runs.map(({ ratio }) => ratio);
  return {
    ratio: rounded(median(ratios)),
    tolerance: rounded(toleranceOf(ratios, stage.tolerance)),
    spread: rounded(robustSpread(ratios)),
    reference_us: rounded(median(runs.map(({ referenceUs }) => referenceUs))),
    slices: runs[0]?.slices ?? 0,
    runs: ratios.map(rounded),
  };
}

export function processorName(): string {
  return `${cpus()[0]?.model ?? 'unknown'}, ${cpus().length} processors`;
}

function rounded(value: number): number {
  return Number(value.toFixed(4));
}
