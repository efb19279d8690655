import { Command, InvalidArgumentError } from 'commander';

export interface DetectOptions {
  readonly seed: readonly number[];
  readonly scale: number;
  readonly days: number;
  readonly attacks: boolean;
  readonly outcomes: boolean;
  readonly data: boolean;
  readonly policy?: string;
  readonly velocityMb: number;
  readonly json?: string;
  readonly picture?: string;
  readonly export?: string;
}

/** Choice: three times full size; all sessions stay in memory until the report is computed. */
const SCALE_MAX = 3;
const SCALE_MIN = 0.005;
const DAYS_MAX = 14;
const SEEDS_MAX = 20;

/** Prints the error or the help to the terminal and throws a `CommanderError`. */
export function readOptions(argv: readonly string[]): DetectOptions {
  return new Command('npm run bench:detect --')
    .description(
      'Measures what the current rules detect and whom they challenge: plays simulated days of shops, logins, payments and apps, with people and\n' +
        'attackers, through the scoring engine in this process, on a virtual clock. The same seed gives the same figures.\n' +
        'Tune rules on seeds 1, 2 and 3 only. Report with other seeds, such as 11, 12 and 13, that nobody has tuned on.',
    )
    .option('--seed <n,…>', 'one or more seeds; the report adds their counts and has one line per seed', seeds, [1])
    .option(
      '--scale <share>',
      'multiple of 30,000 people and 28,000 attack sessions',
      number('a scale', SCALE_MIN, SCALE_MAX, false),
      1,
    )
    .option('--days <n>', 'simulated days', number('days', 1, DAYS_MAX), 7)
    .option('--no-attacks', 'only people, no attackers')
    .option('--outcomes', 'report the outcomes of logins and payments to the engine', false)
    .option('--no-data', 'without the data feeds that are shipped')
    .option('--policy <file>', 'a policy file that replaces the default policy')
    .option('--velocity-mb <n>', 'size of the velocity table', number('a size', 16, 1_024), 256)
    .option('--json <file>', 'write all figures to a file')
    .option('--picture <file>', 'write the ROC curve and the detection rate of each kind as SVG')
    .option(
      '--export <file>',
      'write the events of the first seed with their labels as NDJSON, for `gatehouse evaluate`, and end',
    )
    .exitOverride()
    .parse(argv)
    .opts<DetectOptions>();
}

function number(name: string, least: number, most: number, isWhole = true): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!(value >= least && value <= most) || text.trim() === '' || (isWhole && !Number.isInteger(value)))
      throw new InvalidArgumentError(`expected ${name} from ${least} to ${most}.`);
    return value;
  };
}

function seeds(text: string): number[] {
  const list = text.split(',').map(number('a seed', 0, 2 ** 31));
  if (list.length > SEEDS_MAX) throw new InvalidArgumentError(`expected at most ${SEEDS_MAX} seeds.`);
  return list;
}
