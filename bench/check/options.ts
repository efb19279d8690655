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
  /** A slower stage fails the check only from this multiple of its baseline. */
  readonly failFrom: number;
}

const RUNS_MAX = 100;
const ALL = STAGES.map(({ id }) => id);

/** Prints the error or the help to the terminal and throws a `CommanderError`. */
export function readOptions(argv: readonly string[]): CheckOptions {
  return new Command('npm run bench:check --')
    .description(
      'Compares the cost of each stage of the service with a committed baseline, as a ratio to a reference that is measured in turn\n' +
        'with it. Exits with 1 when a stage is slower than its tolerance in two consecutive measurements.',
    )
    .option('--stages <id,…>', `some of ${ALL.join(', ')}`, stageIds, ALL)
    .option('--quick', 'fewer slices: at most three minutes for all stages', false)
    .option('--smoke', 'a few units of each stage and no verdict: a functional test', false)
    .option('--baseline <file>', 'baseline file to compare with or to write', BASELINE_FILE)
    .option('--write-baseline', 'measure --runs times and write the baseline of these stages', false)
    .option('--runs <n>', 'for --write-baseline', runs, 10)
    .option('--json <file>', 'write all figures to a file')
    .option(
      '--fail-from <factor>',
      'exit with 1 only if a slower stage reaches this multiple of its baseline',
      factor,
      1,
    )
    .exitOverride()
    .parse(argv)
    .opts<CheckOptions>();
}

function stageIds(text: string): string[] {
  const ids = text.split(',').map((id) => id.trim());
  const unknown = ids.find((id) => !ALL.includes(id));
  if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is not one of ${ALL.join(', ')}.`);
  return ids;
}

function factor(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value < 1) throw new InvalidArgumentError('expected a factor of at least 1.');
  return value;
}

function runs(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > RUNS_MAX)
    throw new InvalidArgumentError(`expected a number of runs from 1 to ${RUNS_MAX}.`);
  return value;
}
