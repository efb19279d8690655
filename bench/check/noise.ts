import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './build.ts';
import { toleranceOf } from './statistics.ts';

/**
 * The committed noise of each stage: ratios of runs that compared a build with itself. The tolerance of a stage follows from them. It
 * belongs to no kind of processor, because a ratio of two builds does not depend on it much.
 */
export interface Noise {
  readonly at: string;
  readonly node: string;
  readonly processor: string;
  /** Stage → ratio of each run. */
  readonly runs: Readonly<Record<string, readonly number[]>>;
}

const NOISE_FILE = join(ROOT, 'bench/check/noise.json');

export function readNoise(): Noise {
  return JSON.parse(readFileSync(NOISE_FILE, 'utf8')) as Noise;
}

/** Keeps the runs of stages that were not measured. */
export function writeNoise(runs: Noise['runs']): void {
  const noise: Noise = {
    at: new Date().toISOString(),
    node: process.version,
    processor: `${cpus()[0]?.model ?? 'unknown'}, ${cpus().length} processors`,
    runs: { ...readNoise().runs, ...runs },
  };
  writeFileSync(NOISE_FILE, `${JSON.stringify(noise, null, 2)}\n`);
}

/** Returns the highest permitted ratio of a stage, or NaN for a stage whose noise is not known. */
export function toleranceFor(stage: string, { runs }: Noise): number {
  const own = runs[stage];
  return own === undefined ? Number.NaN : toleranceOf(own);
}
