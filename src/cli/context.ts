import type { Command } from 'commander';
import type { Io } from './io.ts';
import type { CommandOutcome } from './command-outcome.ts';

/** The options of every command. */
export interface GlobalOptions {
  readonly json: boolean;
  readonly dataDir: string;
}

/** Registers the commands. `run` prints the outcome of an action and sets the exit code. */
export interface Cli {
  readonly program: Command;
  readonly io: Io;
  globals(): GlobalOptions;
  /** Registers the commands that were not loaded because the command line does not name them. */
  loadAll(): Promise<void>;
  run(work: () => Promise<CommandOutcome>): Promise<void>;
}
