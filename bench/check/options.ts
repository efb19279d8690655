import { Command, InvalidArgumentError } from 'commander';
import { ROOT } from './build.ts';
import { STAGES } from './stages.ts';

export interface CheckOptions {
  readonly stages: readonly string[];
  readonly quick: boolean;
  readonly smoke: boolean;
  /** Builds the reference and measures nothing. */
  readonly prepare: boolean;
  /** Built project folder to measure. */
  readonly build: string;
  /** Built project folder to compare with, instead of the named commit. */
  readonly reference?: string;
  readonly writeNoise: boolean;
  readonly runs: number;
  readonly json?: string;
}

const RUNS_MAX = 100;
const ALL = STAGES.map(({ id }) => id);
const QUICK = STAGES.filter(({ isQuick }) => isQuick).map(({ id }) => id);

/** Prints the error or the help to the terminal and throws a `CommanderError`. */
export function readOptions(argv: readonly string[]): CheckOptions {
  const { stages, ...others } = new Command('npm run bench:check --')
    .description(
      'Compares the cost of each stage of the service with that of the reference build, a commit that bench/check/reference.json\n' +
        'names: both work in turn in the same run. Exits with 1 when a stage is slower than its tolerance in two measurements, and\n' +
        'with 2 when it cannot use the reference. Without the commit in the history it only reports.',
    )
    .option('--stages <id,…>', `some of ${ALL.join(', ')}`, stageIds)
    .option(
      '--quick',
      `fewer laps, and without --stages only ${QUICK.join(', ')}: at most three minutes with both builds`,
      false,
    )
    .option('--smoke', 'a few units of each stage against the same build and no verdict: a functional test', false)
    .option('--prepare', 'only build the reference, for a later check', false)
    .option('--build <folder>', 'built project folder to measure', ROOT)
    .option('--reference <folder>', 'built project folder to compare with, instead of the named commit')
    .option('--write-noise', 'compare the build with itself --runs times and write the noise of these stages', false)
    .option('--runs <n>', 'for --write-noise', runs, 10)
    .option('--json <file>', 'write all figures to a file')
    .exitOverride()
    .parse(argv)
    .opts<Omit<CheckOptions, 'stages'> & { readonly stages?: readonly string[] }>();
  return { ...others, stages: stages ?? (others.quick ? QUICK : ALL) };
}

function stageIds(text: string): string[] {
  const ids = text.split(',').map((id) => id.trim());
  const unknown = ids.find((id) => !ALL.includes(id));
  if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is not one of ${ALL.join(', ')}.`);
  return ids;
}

function runs(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > RUNS_MAX)
    throw new InvalidArgumentError(`expected a number of runs from 1 to ${RUNS_MAX}.`);
  return value;
}
