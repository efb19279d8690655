import { CommanderError } from 'commander';

/**
 * Reads the options of a bench and ends the process where they are wrong, or where its help was asked for: both are printed by then.
 * `wrongExit` is the exit code for wrong options.
 */
export function readOrExit<T>(read: (argv: readonly string[]) => T, wrongExit = 1): T {
  try {
    return read(process.argv);
  } catch (error) {
    if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : wrongExit);
    throw error;
  }
}
