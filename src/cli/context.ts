import type { Command } from 'commander';
import type { Io } from './io.ts';
import type { Outcome } from './outcome.ts';

/** The options that every command has. */
export interface GlobalOptions {
  readonly json: boolean;
  readonly dataDir: string;
}

/** A command's module adds itself here; `run` prints what its action has to say and sets the exit code. */
export interface Cli {
  readonly program: Command;
  readonly io: Io;
  globals(): GlobalOptions;
  run(work: () => Promise<Outcome>): Promise<void>;
}
