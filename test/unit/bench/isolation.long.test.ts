import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** The smoke mode of the bench of isolation, built and from the command line, so that it cannot rot. */

const BENCH = fileURLToPath(new URL('../../../dist/bench/isolation.js', import.meta.url));

test('blocks: each endpoint answers its largest call, and its longest turn is told', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [BENCH, '--smoke', 'blocks']);
  const rows = stdout.trimEnd().split('\n').slice(2);
  expect(rows.length).toBeGreaterThan(25);
  for (const row of rows) expect(row).toMatch(/ +\d+\.\d\d +\d+\.\d +(?:200|202|422) +\d+$/);
}, 60_000);
