/**
 * Prints the usage of a program and exits when `--help` or `-h` is given. Must be called before anything else.
 *
 * @param usage its first line is the call itself, for example `demo [--json] [--keep]`.
 */
export function helpIfAsked(usage: string): void {
  if (!process.argv.slice(2).some((word) => word === '--help' || word === '-h')) return;
  console.log(`usage: ${usage.trim()}`);
  process.exit(0);
}
