import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';

const DEMO = fileURLToPath(new URL('../../dist/bench/demo-learning.js', import.meta.url));
const run = (...words: readonly string[]): Promise<{ readonly stdout: string }> =>
  promisify(execFile)(process.execPath, [DEMO, ...words]);

interface Result {
  readonly rows: number;
  readonly known: { readonly fraud: number; readonly honest: number };
  readonly threshold: number;
  readonly gates: readonly { readonly name: string; readonly holds: boolean }[];
  readonly table: readonly { readonly name: string; readonly caught: number; readonly alarms: number }[];
}

describe('demo:learning', () => {
  test('A small run trains, compares and prints a line for the rules and one for each weight', async () => {
    const { rows, known, threshold, gates, table } = JSON.parse(
      (await run('--scale', '.01', '--json')).stdout,
    ) as Result;
    expect(rows).toBeGreaterThan(5_000);
    expect(known.fraud).toBeGreaterThan(20);
    expect(threshold).toBeGreaterThan(0);
    expect(gates.map(({ name }) => name)).toContain('catch_by_source');
    // So small a week has too few frauds for a model that decides.
    expect(gates.find(({ name }) => name === 'training')?.holds).toBe(false);
    expect(table.map(({ name }) => name)).toEqual([
      'rules alone',
      'with the model, weight 0.44',
      'with the model, weight 0.7',
    ]);
    for (const { caught, alarms } of table) {
      expect(caught).toBeGreaterThan(0.3);
      expect(alarms).toBeLessThan(0.2);
    }
  });

  test('A scale that is out of range is refused', async () => {
    await expect(run('--scale', '7')).rejects.toMatchObject({
      code: 2,
      stderr: 'demo:learning: --scale must be from .01 to 1\n',
    });
  });
});
