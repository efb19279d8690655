/**
 * Prints how a program is called and ends it, where `--help` or `-h` asks for that. To be called before anything is done.
 *
 * @param usage its first line is the call itself, for example `demo [--json] [--keep]`.
 */
export function helpIfAsked(usage: string): void {
  if (!process.argv.slice(2).some((word) => word === '--help' || word === '-h')) return;
  console.log(`usage: ${usage.trim()}`);
  process.exit(0);
}
