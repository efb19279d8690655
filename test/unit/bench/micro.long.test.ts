import { describe, expect, test } from 'vitest';
import { STAGES } from '../../../bench/micro/index.ts';
import { runStage } from '../../../bench/micro/stage.ts';
import { smokeBench } from '../../support/smoke-bench.ts';

/**
 * Runs the benches in their smoke mode, so that they stay runnable. Each task checks its own results: a task that measured a refusal would
 * throw.
 */

describe('the micro benches', () => {
  test.each(STAGES.map((stage) => [stage.name, stage] as const))('%s', async (name, stage) => {
    const { rows, notes } = await runStage(stage, { smoke: true });
    expect(rows.length + notes.length).toBeGreaterThan(0);
    for (const row of rows) {
      expect(row.stage).toBe(name);
      expect(row.samples).toBeGreaterThan(0);
      expect(row.meanNs).toBeGreaterThan(0);
      expect(row.medianNs).toBeGreaterThan(0);
      expect(row.p99Ns).toBeGreaterThan(0);
    }
    expect(new Set(rows.map(({ task }) => task)).size).toBe(rows.length);
  });

  test('The pool hop runs as built, from the command line', async () => {
    const [head, ...rows] = await smokeBench('micro', 'pool');
    expect(head).toMatch(/^stage +task +ns\/op +median +p99 +samples +ops\/sample$/);
    expect(rows).toHaveLength(2);
    for (const row of rows) expect(row).toMatch(/^pool hop +\w.* +\d+ +\d+ +\d+ +2 +16$/);
  });

  test('An unknown stage name is refused', async () => {
    await expect(smokeBench('micro', 'no such stage')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('pool hop') as string,
    });
  });
});
