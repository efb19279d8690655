import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** Runs the isolation bench as built, from the command line, in its smoke mode, so that it stays runnable. */

const BENCH = fileURLToPath(new URL('../../../dist/bench/isolation.js', import.meta.url));

test('bench:isolation calls each endpoint with its largest call and prints its longest turn of the event loop', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [BENCH, '--smoke', 'blocks']);
  const rows = stdout.trimEnd().split('\n').slice(2);
  expect(rows.length).toBeGreaterThan(25);
  for (const row of rows) expect(row).toMatch(/ +\d+\.\d\d +\d+\.\d +(?:20[0124]|40[13]|422) +\d+$/);
}, 60_000);
