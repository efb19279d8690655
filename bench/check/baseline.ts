import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import type { Stage } from './stage.ts';
import { median, robustSpread, toleranceOf } from './statistics.ts';

/** Figures of one stage when the baseline was written. */
export interface StageBaseline {
  /** Median ratio of the runs. */
  readonly ratio: number;
  /** Highest permitted ratio of a run, as a multiple of `ratio`. */
  readonly tolerance: number;
  /** Robust standard deviation of the runs, relative to their median. */
  readonly spread: number;
  /** Reference cost per unit, µs. Reveals that a run was taken on a different kind of machine. */
  readonly reference_us: number;
  readonly slices: number;
  readonly runs: readonly number[];
}

/** Baseline of all stages on one kind of processor. */
export interface Baseline {
  readonly at: string;
  readonly node: string;
  readonly form: string;
  readonly stages: Readonly<Record<string, StageBaseline>>;
}

/**
 * Content of the committed file. Measured: between an Intel Xeon and an AMD EPYC, both with two processors, the ratios of one build differ
 * by a factor of 0.83 (engine) to 1.48 (decide on uws), so a baseline is valid only for its kind of processor.
 */
export interface BaselineFile {
  /** Keyed by `processorName()`. */
  readonly processors: Readonly<Record<string, Baseline>>;
}

/** One run of one stage. */
export interface StageRun {
  readonly ratio: number;
  readonly referenceUs: number;
  readonly slices: number;
}

/** Path of the committed file, relative to `dist/bench/check`. */
export const BASELINE_FILE = new URL('../../../bench/check/baseline.json', import.meta.url).pathname;

/** Returns an empty baseline when the file does not exist. */
export function readBaselines(file: string): BaselineFile {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as BaselineFile;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { processors: {} };
    throw error;
  }
}

/** Writes the stages for this machine's processor. Keeps the entries of other processors and of stages that were not measured. */
export function writeBaseline(file: string, form: string, stages: Readonly<Record<string, StageBaseline>>): void {
  const { processors } = readBaselines(file);
  const name = processorName();
  const baseline: Baseline = {
    at: new Date().toISOString(),
    node: process.version,
    form,
    stages: { ...processors[name]?.stages, ...stages },
  };
  const content: BaselineFile = { processors: { ...processors, [name]: baseline } };
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
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
