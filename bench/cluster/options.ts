import { Command, InvalidArgumentError, Option } from 'commander';
import type { StoreKind } from './store.ts';

export interface ClusterBenchOptions {
  readonly nodes: readonly number[];
  readonly rate: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly store: StoreKind;
  readonly capacity: boolean;
  readonly nodeFlags: readonly string[];
  readonly json?: string;
}

/** Prints the error or the help to the terminal and throws a `CommanderError`. */
export function readOptions(argv: readonly string[]): ClusterBenchOptions {
  const command = new Command('npm run bench:cluster --')
    .description('Compares decisions on several nodes over one Redis with those of a server that works alone.')
    .option('--nodes <n,…>', 'numbers of nodes; 0 works alone', counts, [0, 1, 2, 3])
    .option('--rate <n>', 'decisions per second over all nodes, for latency and processor time', number, 2_000)
    .option('--seconds <n>', 'duration of a phase', number, 5)
    .option('--rounds <n>', 'number of rounds', number, 3)
    .addOption(
      new Option('--store <kind>', 'one server, or 3 primaries with replicas')
        .choices(['single', 'cluster'])
        .default('single'),
    )
    .option('--no-capacity', 'omit the phase without a fixed rate')
    .option('--node-flags <flags>', 'Node.js flags of the nodes, for example --cpu-prof', (text) => text.split(' '), [])
    .option('--json <file>', 'write all figures')
    .exitOverride();
  return command.parse([...argv]).opts<ClusterBenchOptions>();
}

function number(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('must be a whole number, at least 1');
  return value;
}

function counts(text: string): readonly number[] {
  const values = text.split(',').map(Number);
  if (values.every((value) => Number.isInteger(value) && value >= 0 && value <= 8)) return values;
  throw new InvalidArgumentError('must be numbers from 0 (a server that works alone) to 8, separated by commas');
}
