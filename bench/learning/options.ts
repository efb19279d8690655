import { Command, InvalidArgumentError } from 'commander';

export interface LearningBenchOptions {
  readonly train: number;
  readonly shadow: number;
  readonly test: number;
  readonly scale: number;
  readonly prior: number;
  readonly budget: number;
  readonly families: boolean;
  readonly json?: string;
}

/** Prints the error or the help to the terminal and throws a `CommanderError`. */
export function readLearningOptions(argv: readonly string[]): LearningBenchOptions {
  return new Command('npm run bench:learning --')
    .description(
      'Measures learning: trains a model on one simulated week with the labels that a customer has, lets it run beside the rules in a second\n' +
        'week, and tests it on a third. The same seeds give the same figures. Use seeds that nobody has tuned on.',
    )
    .option('--train <seed>', 'the week to train on', number('a seed', 0, 2 ** 31), 141)
    .option('--shadow <seed>', 'the week in which sessions are reviewed', number('a seed', 0, 2 ** 31), 142)
    .option('--test <seed>', 'the week to test on', number('a seed', 0, 2 ** 31), 143)
    .option('--scale <share>', 'multiple of 30,000 people and 28,000 attack sessions', number('a scale', 0.01, 2), 1)
    .option('--prior <share>', 'as `models train --prior`', number('a share', 0.0001, 0.5), 0.01)
    .option('--budget <share>', 'as `models train --budget`', number('a share', 0.0001, 0.1), 0.002)
    .option('--no-families', 'skip the models without a family of attacks')
    .option('--json <file>', 'write all figures to a file')
    .exitOverride()
    .parse(argv)
    .opts<LearningBenchOptions>();
}

function number(name: string, least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === '' || !(value >= least && value <= most))
      throw new InvalidArgumentError(`expected ${name} from ${least} to ${most}.`);
    return value;
  };
}
