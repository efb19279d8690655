import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import type { Report } from '../../../bench/detect/report.ts';

const BENCH = fileURLToPath(new URL('../../../dist/bench/detect.js', import.meta.url));

test('bench:detect prints its tables and writes its figures and its picture', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-detect-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [json, picture] = [join(folder, 'detect.json'), join(folder, 'detect.svg')];
  const argv = ['--scale', '0.005', '--days', '1', '--seed', '1,2', '--outcomes', '--json', json, '--picture', picture];
  const { stdout } = await promisify(execFile)(process.execPath, [BENCH, ...argv]);
  expect(stdout).toMatch(/ordinary people/);
  expect(stdout).toMatch(/probing_for_holes .* 100\.00 %/);
  expect(stdout).toMatch(/outcomes reported/);
  const written = JSON.parse(readFileSync(json, 'utf8')) as { report: Report; runs: unknown[] };
  expect(written.runs).toHaveLength(2);
  expect(written.report.attackKinds.length).toBeGreaterThan(50);
  expect(readFileSync(picture, 'utf8')).toMatch(/^<svg[\s\S]*ROC by session/);
});
