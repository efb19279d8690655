import { Command, InvalidArgumentError } from 'commander';
import { BASELINE_FILE } from './baseline.ts';
import { STAGES } from './stages.ts';

export interface CheckOptions {
  readonly stages: readonly string[];
  readonly quick: boolean;
  readonly smoke: boolean;
  readonly baseline: string;
  readonly writeBaseline: boolean;
  readonly runs: number;
  readonly json?: string;
}

const RUNS_MAX = 100;
const ALL = STAGES.map(({ id }) => id);

/** Throws a `CommanderError` after it has written what is wrong, or the help, to the terminal. */
export function readOptions(argv: readonly string[]): CheckOptions {
  return new Command('npm run bench:check --')
    .description(
      'Compares what each stage of the service costs with a committed baseline, as a ratio to a reference that is measured in turn\n' +
        'with it. Exit code 1 when a stage became slower than its tolerance allows, measured twice.',
    )
    .option('--stages <id,…>', `of ${ALL.join(', ')}`, stageIds, ALL)
    .option('--quick', 'fewer slices: at most three minutes for all stages', false)
    .option('--smoke', 'a few units of each stage and no verdict, to see that it works', false)
    .option('--baseline <file>', 'to compare with, or to write', BASELINE_FILE)
    .option('--write-baseline', 'measure --runs times and write the baseline of these stages', false)
    .option('--runs <n>', 'for --write-baseline', runs, 10)
    .option('--json <file>', 'write all figures to a file')
    .exitOverride()
    .parse(argv)
    .opts<CheckOptions>();
}

function stageIds(text: string): string[] {
  const ids = text.split(',').map((id) => id.trim());
  const unknown = ids.find((id) => !ALL.includes(id));
  if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is none of ${ALL.join(', ')}.`);
  return ids;
}

function runs(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > RUNS_MAX)
    throw new InvalidArgumentError(`runs from 1 to ${RUNS_MAX} are expected.`);
  return value;
}
