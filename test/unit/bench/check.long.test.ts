import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const CHECK = fileURLToPath(new URL('../../../dist/bench/check.js', import.meta.url));

test('bench:check compares the built stages with themselves and writes the figures', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-check-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const json = join(folder, 'figures.json');
  const words = ['--smoke', '--stages', 'verify,decide,decide-1000,webhooks', '--json', json];
  const { stdout } = await promisify(execFile)(process.execPath, [CHECK, ...words]);
  expect(stdout).toContain('decide over HTTP');
  const figures = JSON.parse(readFileSync(json, 'utf8')) as Readonly<Record<string, unknown>>;
  const positive = expect.any(Number) as number;
  expect(figures['stages']).toMatchObject([
    { id: 'verify', unit: 'signature', ours_us: positive, reference_us: positive, verdict: 'not judged' },
    { id: 'decide', unit: 'request', ours_us: positive, reference_us: positive, echo_ratio: positive },
    { id: 'decide-1000', unit: 'request', ours_us: positive, reference_us: positive, echo_ratio: positive },
    { id: 'webhooks', unit: 'delivery', ours_us: positive, reference_us: positive, echo_ratio: null },
  ]);
  expect(stdout).toMatch(/^hot thread: .* longest turn \d/m);
  expect(stdout).toMatch(/^two cells: \d/m);
  expect(figures['two_cells']).toEqual(positive);
  expect(figures['hot_thread']).toMatchObject({ longest_turn_ms: positive });
});
