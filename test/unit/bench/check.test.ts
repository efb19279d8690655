import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type Baseline,
  baselineOf,
  processorName,
  readBaselines,
  type StageBaseline,
  type StageRun,
} from '../../../bench/check/baseline.ts';
import { addSpin, filesOf, SLOW_PLACES } from '../../../bench/check/slow-places.ts';
import { STAGES } from '../../../bench/check/stages.ts';
import { median, pairSlices, quantile, ratioOf, robustSpread, toleranceOf } from '../../../bench/check/statistics.ts';
import { fails, judge, lineOf, noBaselineLine, remarks } from '../../../bench/check/verdict.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const CHECK = join(ROOT, 'dist/bench/check.js');
const RULE = { floor: 0.05, ceiling: 0.12 };

describe('the statistics of bench:check', () => {
  test('A quantile is interpolated between the two nearest values', () => {
    expect(quantile([4, 1, 3, 2], 0)).toBe(1);
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
    expect(quantile([4, 1, 3, 2], 1)).toBe(4);
    expect(median([])).toBeNaN();
  });

  test('A slice is divided by the mean of the reference slices before and after it', () => {
    expect(pairSlices([10, 20], [1, 3, 5])).toEqual([
      { ours: 10, reference: 2 },
      { ours: 20, reference: 4 },
    ]);
  });

  test('The ratio stays the same on a machine that becomes steadily slower', () => {
    const [ours, references] = [[2, 3, 4].map((n) => n * 5), [1.5, 2.5, 3.5, 4.5]];
    expect(ratioOf([pairSlices(ours, references)])).toBe(5);
  });

  test('One stalled slice and one slow process do not change the ratio', () => {
    const calm = [2, 2, 2].map((ours) => ({ ours, reference: 1 }));
    const stalled = [{ ours: 90, reference: 1 }, ...calm];
    const unlucky = calm.map(({ ours }) => ({ ours: 3 * ours, reference: 1 }));
    expect(ratioOf([calm, stalled, unlucky])).toBe(2);
  });

  test('The spread estimates the standard deviation, and one outlier hardly changes it', () => {
    const runs = [0.98, 0.99, 1, 1.01, 1.02];
    expect(robustSpread(runs)).toBeCloseTo(0.0148, 4);
    expect(robustSpread([...runs, 5, 0.1])).toBeLessThan(0.03);
  });

  test('The tolerance is the largest of the floor, four spreads and 1.5 times the largest deviation', () => {
    expect(toleranceOf([1, 1, 1], RULE)).toBe(1.05);
    expect(toleranceOf([0.98, 0.99, 1, 1.01, 1.02], RULE)).toBeCloseTo(1.0593, 4);
    expect(toleranceOf([1, 1, 1, 1, 1.08], RULE)).toBeCloseTo(1.12, 10);
  });
});

describe('the verdict of bench:check', () => {
  const stage = STAGES.find(({ id }) => id === 'engine') ?? STAGES[0];
  if (stage === undefined) throw new Error('there are no stages');
  const baseline: StageBaseline = {
    ratio: 2,
    tolerance: 1.09,
    spread: 0.01,
    reference_us: 10,
    slices: 200,
    runs: [2],
  };
  const runOf = (ratio: number, referenceUs = 10): StageRun => ({ ratio, referenceUs, slices: 200 });
  const saying = (ratio: number): string | null => lineOf(stage, judge(runOf(ratio), baseline));

  test('The verdict does not mention a stage within its tolerance, faster or slower', () => {
    for (const ratio of [2, 2.17, 1.84]) expect(saying(ratio)).toBeNull();
  });

  test('The verdict names a slower stage, by how much, and which files to look at', () => {
    expect(saying(2.36)).toBe(
      'SLOWER: engine with velocity store: 1.18 times the baseline (tolerance 1.09): look at src/velocity, src/score, src/risk',
    );
  });

  test('The verdict detects a slow-down of 15 % at the largest tolerance that a stage may have', () => {
    for (const { tolerance, judged } of STAGES)
      if (judged === 'processor time') expect(tolerance.ceiling).toBeLessThan(0.13);
    expect(judge(runOf(2.3), { ...baseline, tolerance: 1.12 }).kind).toBe('slower');
  });

  test('The verdict treats a stage without a figure as slower', () => {
    expect(judge(runOf(Number.NaN), baseline).kind).toBe('slower');
  });

  test('The verdict asks for a new baseline when a stage is faster', () => {
    expect(saying(1.7)).toMatch(/^FASTER: engine with velocity store: 0\.85 times .* --write-baseline --stages engine/);
  });

  test('The verdict asks for a baseline for a stage without one', () => {
    expect(lineOf(stage, judge(runOf(2), undefined))).toMatch(/^NO BASELINE: engine with velocity store/);
  });

  test('The verdict mentions another Node.js version and a busy machine', () => {
    const whole: Baseline = {
      at: '',
      node: 'v20.1.0',
      form: 'quick',
      stages: { [stage.id]: baseline },
    };
    expect(remarks(whole, 'v20.20.2', [[stage, runOf(2, 12)]])).toEqual([]);
    expect(remarks(whole, 'v22.1.0', [[stage, runOf(2, 12)]])).toEqual([expect.stringContaining('v20.1.0')]);
    expect(remarks(whole, 'v20.20.2', [[stage, runOf(2, 16)]])).toEqual([expect.stringContaining('busy')]);
  });

  test('The verdict names a processor without a baseline and the processors that have one', () => {
    expect(noBaselineLine('new processor', ['old processor'])).toMatch(
      /^NOT JUDGED: there is no baseline for new processor \(existing ones: old processor\)/,
    );
  });

  test('A baseline is the median of its runs, with a tolerance derived from their noise', () => {
    const made = baselineOf(
      stage,
      [2, 2.02, 1.98].map((ratio) => runOf(ratio)),
    );
    expect(made).toMatchObject({ ratio: 2, reference_us: 10, slices: 200, runs: [2, 2.02, 1.98] });
    expect(made.tolerance).toBeCloseTo(1.0593, 3);
  });
});

test('Every stage has a unique id and names existing files', () => {
  expect(new Set(STAGES.map(({ id }) => id)).size).toBe(STAGES.length);
  for (const { lookAt } of STAGES)
    for (const [path] of lookAt.matchAll(/\b(?:src|workers)\/[\w./-]+/g))
      expect([path, existsSync(join(ROOT, path))]).toEqual([path, true]);
});

const COMMITTED = Object.entries(readBaselines(join(ROOT, 'bench/check/baseline.json')).processors);

/** Stages, by processor, whose noise may hide a slow-down of 15 %. The check prints them when it writes the baseline. */
const TOO_NOISY: Readonly<Record<string, readonly string[]>> = {
  'AMD EPYC, 2 processors': [
    'decide-node',
    'decide-node-no-session',
    'decide-uws',
    'decide-uws-no-session',
    'extraction',
    'verify',
    'webhooks',
  ],
  'Intel(R) Xeon(R) Processor, 2 processors': ['decide-node', 'decide-node-no-session'],
};

test('With --fail-from a slower stage fails the check only from that multiple of its baseline', () => {
  const slower = (change: number) => ({ kind: 'slower', change, tolerance: 1.1 }) as const;
  expect(fails(slower(1.2), 1)).toBe(true);
  expect(fails(slower(1.49), 1.5)).toBe(false);
  expect(fails(slower(1.5), 1.5)).toBe(true);
  expect(fails(slower(Number.NaN), 1.5)).toBe(true);
  expect(fails({ kind: 'fine', change: 2, tolerance: 3 }, 1)).toBe(false);
});

test.each(COMMITTED)(
  'The committed baseline of %s contains every stage and no unlisted noisy stage',
  (processor, { stages }) => {
    expect(Object.keys(stages).sort()).toEqual(STAGES.map(({ id }) => id).sort());
    const noisy = STAGES.filter(({ id, tolerance }) => (stages[id]?.tolerance ?? Infinity) > 1 + tolerance.ceiling);
    expect(noisy.map(({ id }) => id).sort()).toEqual((TOO_NOISY[processor] ?? []).toSorted());
  },
);

test.each(SLOW_PLACES.map((place) => [place.id, place] as const))(
  'The proof finds its function in the built service: %s',
  (_id, place) => {
    const files = filesOf(place, ROOT);
    expect(files.length).toBeGreaterThan(1);
    for (const file of files)
      expect(addSpin(readFileSync(join(ROOT, file), 'utf8'), place, 40)).toContain(
        `${place.anchor} spinInVain(40 * ${place.units});`,
      );
    expect(STAGES.map(({ id }) => id)).toEqual(expect.arrayContaining([place.stage, place.control]));
    expect(() => addSpin('', place, 40)).toThrow('0 times');
  },
);

describe('bench:check, built and from the command line', () => {
  const folderOf = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-check-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  };
  const run = (...words: string[]): Promise<{ stdout: string }> =>
    promisify(execFile)(process.execPath, [CHECK, '--smoke', '--stages', 'verify', ...words]);

  test('bench:check writes a baseline, then compares with it and writes the figures', async () => {
    const folder = folderOf();
    const [baseline, json] = [join(folder, 'baseline.json'), join(folder, 'figures.json')];
    await run('--baseline', baseline, '--write-baseline', '--runs', '1');
    const stages = readBaselines(baseline).processors[processorName()]?.stages ?? {};
    expect(stages['verify']?.ratio).toBeGreaterThan(0);
    const { stdout } = await run('--baseline', baseline, '--json', json);
    expect(stdout).toContain('verify');
    const figures = JSON.parse(readFileSync(json, 'utf8')) as { stages: unknown };
    expect(figures.stages).toMatchObject([{ id: 'verify', unit: 'signature', judged: 'processor time' }]);
  });

  test('bench:check refuses an unknown stage', async () => {
    await expect(run('--stages', 'verify,nothing')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('"nothing" is not one of verify, engine') as string,
    });
  });
});
