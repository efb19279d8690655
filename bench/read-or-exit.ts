import { CommanderError } from 'commander';

/**
 * Reads the options of a bench. Exits when they are invalid or when help was requested; Commander has printed both by then. `wrongExit` is
 * the exit code for invalid options.
 */
export function readOrExit<T>(read: (argv: readonly string[]) => T, wrongExit = 1): T {
  try {
    return read(process.argv);
  } catch (error) {
    if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : wrongExit);
    throw error;
  }
}
