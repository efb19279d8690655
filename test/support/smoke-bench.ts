import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/**
 * Runs a bench as built, from the command line, in its smoke mode, so that it stays runnable. Returns the lines of its output. Its servers
 * do not warm up: nobody reads the figures.
 *
 * @throws {Error} when the bench fails.
 */
export async function smokeBench(bench: string, name: string, ...words: readonly string[]): Promise<readonly string[]> {
  const program = fileURLToPath(new URL(`../../dist/bench/${bench}.js`, import.meta.url));
  const env = { ...process.env, GATEHOUSE_WARM_UP: '0' };
  const { stdout } = await promisify(execFile)(process.execPath, [program, '--smoke', ...words, name], { env });
  return stdout.trimEnd().split('\n');
}
