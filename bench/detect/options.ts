import { Command, InvalidArgumentError } from 'commander';

export interface DetectOptions {
  readonly seed: readonly number[];
  readonly scale: number;
  readonly days: number;
  readonly attacks: boolean;
  readonly outcomes: boolean;
  readonly policy?: string;
  readonly velocityMb: number;
  readonly json?: string;
  readonly picture?: string;
}

/** Choice: three times full size; sessions are kept until the report is made. */
const SCALE_MAX = 3;
const SCALE_MIN = 0.005;
const DAYS_MAX = 14;
const SEEDS_MAX = 20;

/** Throws a `CommanderError` after it has written what is wrong, or the help, to the terminal. */
export function readOptions(argv: readonly string[]): DetectOptions {
  return new Command('npm run bench:detect --')
    .description(
      'What today’s rules catch and whom they challenge: plays simulated days of shops, logins, payments and apps, with people and\n' +
        'attackers, through the scoring engine in this process, in simulated time. The same seed gives the same figures.\n' +
        'Tune rules on seeds 1, 2 and 3 alone. Report with others, such as 11, 12 and 13, that nobody has tuned on.',
    )
    .option('--seed <n,…>', 'one or more seeds; their counts are added, each has a line of its own', seeds, [1])
    .option(
      '--scale <share>',
      'of 30,000 people and 28,000 attack sessions',
      number('a scale', SCALE_MIN, SCALE_MAX, false),
      1,
    )
    .option('--days <n>', 'simulated days', number('days', 1, DAYS_MAX), 7)
    .option('--no-attacks', 'the same people without attackers')
    .option('--outcomes', 'report what became of logins and payments to the engine', false)
    .option('--policy <file>', 'a policy file in place of the default policy')
    .option('--velocity-mb <n>', 'size of the velocity table', number('a size', 16, 1_024), 256)
    .option('--json <file>', 'write all figures to a file')
    .option('--picture <file>', 'write the ROC curve and the catch of each kind as SVG')
    .exitOverride()
    .parse(argv)
    .opts<DetectOptions>();
}

function number(name: string, least: number, most: number, isWhole = true): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!(value >= least && value <= most) || text.trim() === '' || (isWhole && !Number.isInteger(value)))
      throw new InvalidArgumentError(`${name} from ${least} to ${most} is expected.`);
    return value;
  };
}

function seeds(text: string): number[] {
  const list = text.split(',').map(number('a seed', 0, 2 ** 31));
  if (list.length > SEEDS_MAX) throw new InvalidArgumentError(`at most ${SEEDS_MAX} seeds are expected.`);
  return list;
}
