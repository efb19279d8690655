import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { buildFault, interfaceFault } from '../../../bench/check/build.ts';
import { interleave, inTurn, type Subject } from '../../../bench/check/interleave.ts';
import { hasTooManyCalls, hotThreadLine } from '../../../bench/check/hot-thread.ts';
import { hasTimeFor } from '../../../bench/check/laps.ts';
import { type Noise, toleranceFor } from '../../../bench/check/noise.ts';
import { openReference, type ReferenceParts } from '../../../bench/check/reference.ts';
import { resultOf, tableOf } from '../../../bench/check/report.ts';
import { addSpin, filesOf, SLOW_PLACES } from '../../../bench/check/slow-places.ts';
import { STAGES } from '../../../bench/check/stages.ts';
import {
  errorOf,
  lapRatio,
  type LapSlices,
  median,
  midMean,
  quantile,
  runRatio,
  runTolerance,
  toleranceOf,
} from '../../../bench/check/statistics.ts';
import { busyLine, judge, lineOf, TOLERANCE_MAX } from '../../../bench/check/verdict.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const CHECK = join(ROOT, 'dist/bench/check.js');

const engine = STAGES.find(({ id }) => id === 'engine') ?? STAGES[0];
if (engine === undefined) throw new Error('there are no stages');
const stage = engine;

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-check-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('the hot thread in bench:check', () => {
  test('More than 2.4 system calls per decision are too many, and those that were not counted are not judged', () => {
    const of = (systemCalls: number | null) => ({ systemCalls, longestTurnMs: 1.5 });
    expect([2.2, 2.4, 2.5, 16, null].map((calls) => hasTooManyCalls(of(calls)))).toEqual([
      false,
      false,
      true,
      true,
      false,
    ]);
    expect(hotThreadLine(of(2.213))).toBe(
      'hot thread: 2.21 system calls per decision (at most 2.4), longest turn 1.50 ms',
    );
    expect(hotThreadLine(of(null))).toContain('not counted here');
  });
});

describe('the statistics of bench:check', () => {
  test('A quantile is interpolated between the two nearest values', () => {
    expect(quantile([4, 1, 3, 2], 0)).toBe(1);
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
    expect(quantile([4, 1, 3, 2], 1)).toBe(4);
    expect(median([])).toBeNaN();
  });

  test('The mean of the middle half ignores a quarter of the values on each side', () => {
    expect(midMean([1, 2, 4, 1_000])).toBe(3);
    expect(midMean([7])).toBe(7);
    expect(midMean([])).toBeNaN();
  });

  test('The ratio of a lap stays the same on a machine that becomes slower, because neighbouring slices are compared', () => {
    expect(lapRatio([10, 20, 40], [5, 10, 20])).toBeCloseTo(2, 10);
  });

  test('One disturbed slice and one lap with slow processes do not change the ratio', () => {
    expect(lapRatio([2, 2, 2, 90], [1, 1, 1, 1])).toBeCloseTo(2, 10);
    expect(runRatio([2, 2, 2, 6])).toBeCloseTo(2, 10);
  });

  test('The error of a run falls with the number of slices and of laps', () => {
    const lapOf = (slices: number): LapSlices => ({
      ours: Array.from({ length: slices }, (_, n) => Math.exp(n % 2 === 0 ? 0.1 : -0.1)),
      others: Array.from({ length: slices }, () => 1),
    });
    const error = errorOf([lapOf(16)]);
    expect(error).toBeCloseTo((1.1 * 1.4826 * 0.1) / 4, 10);
    expect(errorOf([lapOf(64)])).toBeCloseTo(error / 2, 10);
    expect(errorOf([lapOf(16), lapOf(16), lapOf(16), lapOf(16)])).toBeCloseTo(error / 2, 10);
  });

  test('Laps that differ more than their slices determine the error of a run', () => {
    const laps = [1, 1.1, 1.2].map((ratio) => ({ ours: [ratio, ratio], others: [1, 1] }));
    expect(errorOf(laps)).toBeGreaterThan(0.05);
    expect(errorOf(laps.slice(0, 2))).toBe(0);
  });

  test('The tolerance of a run is that of the stage, or 2.5 errors of the run on a busy machine', () => {
    expect(runTolerance(1.08, 0.01)).toBe(1.08);
    expect(runTolerance(1.08, 0.04)).toBeCloseTo(1.1, 10);
    expect(runTolerance(Number.NaN, 0.01)).toBeNaN();
  });

  test('The tolerance is the largest of its least value, three deviations and 1.25 times the largest deviation', () => {
    expect(toleranceOf([1, 1, 1])).toBe(1.05);
    expect(toleranceOf([0.98, 1.02, 0.98, 1.02])).toBeCloseTo(1 + 3 * 1.4826 * 0.02, 2);
    expect(toleranceOf([1, 1, 1, 1 / 1.2])).toBeCloseTo(1 + 1.25 * Math.log(1.2), 10);
  });
});

describe('the turns of bench:check', () => {
  /** A subject that notes its slices; each costs `cost`, and `after` more once it is over. */
  function subjectOf(name: string, log: string[], { cost = 1, after = 0, kinds = ['a', 'b'] } = {}): Subject {
    let us = 0;
    return {
      kinds,
      readUs: () => us,
      run(kind) {
        log.push(name + kind);
        us += cost + after;
        return Promise.resolve();
      },
    };
  }
  const prepare = (): Promise<void> => Promise.resolve();

  test('Both builds take turns in every kind of work, swapped in every second pass, and the echo server comes last', async () => {
    const log: string[] = [];
    const subjects = [subjectOf('1', log), subjectOf('2', log), subjectOf('echo ', log, { kinds: ['a'] })];
    const costs = await interleave(subjects, { kinds: ['a', 'b'], passes: 2, secondsMax: 60, prepare });
    expect(log).toEqual(['1a', '2a', 'echo a', '1b', '2b', '2a', '1a', 'echo a', '2b', '1b']);
    expect(costs.map((one) => [one['a']?.length, one['b']?.length])).toEqual([
      [2, 2],
      [2, 2],
      [2, undefined],
    ]);
  });

  test('On a busy machine the turns end after their time, with at least one pass', async () => {
    const costs = await interleave([subjectOf('1', [])], { kinds: ['a', 'b'], passes: 9, secondsMax: 0, prepare });
    expect([costs[0]?.['a']?.length, costs[0]?.['b']?.length]).toEqual([1, 1]);
  });

  test('The cost of a slice contains what its process does until its next slice begins', async () => {
    const costs = await interleave([subjectOf('1', [], { cost: 5, after: 2 })], {
      kinds: ['a'],
      passes: 3,
      secondsMax: 60,
      prepare,
    });
    expect(costs[0]?.['a']?.map(({ processorUs }) => processorUs)).toEqual([7, 7, 7]);
  });

  test('Either build can be opened first', async () => {
    const builds = { ours: { name: 'ours', root: '' }, reference: { name: 'reference', root: '' } };
    const orders = await Promise.all(
      [false, true].map(async (isReferenceFirst) => {
        const opened: string[] = [];
        const open = ({ name }: { name: string }): Promise<string> =>
          Promise.resolve(opened.push(name)).then(() => name);
        return { result: await inTurn(isReferenceFirst, builds, open), opened };
      }),
    );
    const result = ['ours', 'reference'];
    expect(orders).toEqual([
      { result, opened: ['ours', 'reference'] },
      { result, opened: ['reference', 'ours'] },
    ]);
  });

  test('Another lap begins while its end fits into the time, or while there are too few', () => {
    const plan = { isSmoke: false, secondsMax: 100, lapsMin: 2, lapsMax: 5 };
    expect(hasTimeFor(0, 0, plan)).toBe(true);
    expect(hasTimeFor(1, 400, plan)).toBe(true);
    expect(hasTimeFor(3, 75, plan)).toBe(true);
    expect(hasTimeFor(3, 76, plan)).toBe(false);
    expect(hasTimeFor(5, 10, plan)).toBe(false);
  });
});

describe('the verdict of bench:check', () => {
  const saying = (ratio: number): string | null => lineOf(stage, judge(ratio, 1.09));

  test('The verdict does not mention a stage within its tolerance, faster or slower', () => {
    for (const ratio of [1, 1.085, 0.92]) expect(saying(ratio)).toBeNull();
  });

  test('The verdict names a slower stage, by how much, and which files to look at', () => {
    expect(saying(1.18)).toBe(
      'SLOWER: engine: 1.18 times the reference (tolerance 1.09): look at src/velocity, src/score, src/risk',
    );
  });

  test('The verdict treats a stage without a figure or without a known tolerance as slower', () => {
    expect(judge(Number.NaN, 1.09).kind).toBe('slower');
    expect(judge(1, toleranceFor('nothing', { at: '', node: '', processor: '', runs: {} })).kind).toBe('slower');
  });

  test('The verdict asks for another reference when a stage is faster', () => {
    expect(saying(0.85)).toMatch(/^FASTER: engine: 0\.85 times .*reference\.json/);
  });

  test('The verdict warns of a machine that is too busy to detect a slow-down of 15 %', () => {
    expect(busyLine([[stage, judge(1, 1.1)]])).toBeNull();
    expect(busyLine([[stage, judge(1, 1.12)]])).toMatch(/^BUSY MACHINE: engine: the tolerance is above 1\.10/);
  });

  test('Without a reference the figures are reported and not judged', () => {
    const cost = { processorUs: 192_000, wallUs: 200_000 };
    const result = resultOf({ stage, laps: [{ ours: [cost], reference: null, echo: null }] });
    const verdict = judge(result.ratio, 1.09);
    expect(verdict).toEqual({ kind: 'not judged' });
    expect(lineOf(stage, verdict)).toBeNull();
    expect(tableOf([{ result, verdict }])).toMatch(/engine .* 1000 .* not judged/);
  });

  test('The ratio compares processor time, and the wall clock stands beside it', () => {
    const costOf = (processorUs: number, wallUs: number) => ({ processorUs, wallUs });
    const lap = { ours: [costOf(12, 30)], reference: [costOf(10, 10)], echo: [costOf(4, 1)] };
    const result = resultOf({ stage, laps: [lap, lap] });
    expect(result.ratio).toBeCloseTo(1.2, 10);
    expect(result.wallRatio).toBeCloseTo(3, 10);
    expect(result.echoRatio).toBeCloseTo(3, 10);
    expect(result.lapRatios).toHaveLength(2);
  });
});

test('Every stage has a unique id and names existing files', () => {
  expect(new Set(STAGES.map(({ id }) => id)).size).toBe(STAGES.length);
  for (const { lookAt } of STAGES)
    for (const [path] of lookAt.matchAll(/\b(?:src|workers)\/[\w./-]+/g))
      expect([path, existsSync(join(ROOT, path))]).toEqual([path, true]);
});

test('The committed noise covers every judged stage with several runs, and every stage of processor time detects a slow-down of 15 %', () => {
  const noise = JSON.parse(readFileSync(join(ROOT, 'bench/check/noise.json'), 'utf8')) as Noise;
  const judged = STAGES.filter(({ isUnjudged }) => isUnjudged !== true);
  expect(Object.keys(noise.runs).toSorted()).toEqual(judged.map(({ id }) => id).toSorted());
  for (const { id, unit } of judged) {
    expect(noise.runs[id]?.length).toBeGreaterThanOrEqual(10);
    // A latency depends on the machine's scheduling.
    if (unit !== 'p99') expect([id, toleranceFor(id, noise) <= TOLERANCE_MAX]).toEqual([id, true]);
  }
});

describe('the reference of bench:check', () => {
  const INTERFACE = readFileSync(join(ROOT, 'bench/check/interface.json'), 'utf8');

  /** A history with one commit of a project that has this interface file. */
  function projectOf(interfaceText: string | null): { root: string; commit: string } {
    const root = temporaryFolder();
    const git = (...words: string[]): string =>
      execFileSync('git', ['-C', root, '-c', 'user.name=test', '-c', 'user.email=test@test.example', ...words], {
        encoding: 'utf8',
      }).trim();
    git('init', '--quiet');
    mkdirSync(join(root, 'bench/check'), { recursive: true });
    writeFileSync(join(root, 'package-lock.json'), '{}');
    if (interfaceText !== null) writeFileSync(join(root, 'bench/check/interface.json'), interfaceText);
    git('add', '.');
    git('commit', '--quiet', '--message', 'project: begin');
    return { root, commit: git('rev-parse', 'HEAD') };
  }

  function open(
    root: string,
    commit: string | null,
    build?: ReferenceParts['build'],
  ): ReturnType<typeof openReference> {
    writeFileSync(join(root, 'bench/check/reference.json'), JSON.stringify({ commit, why: 'of this test' }));
    return openReference({ root, ...(build !== undefined && { build }) });
  }

  /** Creates empty programs instead of compiling them. */
  function fakeBuild(folder: string): Promise<void> {
    for (const path of ['dist/app/main.js', 'dist/bench/check/work-process.js']) {
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), '');
    }
    return Promise.resolve();
  }

  test('A commit with the same interface is checked out and built once, then taken from the cache', async () => {
    const { root, commit } = projectOf(INTERFACE);
    const built: string[] = [];
    const build = (folder: string): Promise<void> => fakeBuild(folder).then(() => void built.push(folder));
    const first = await open(root, commit, build);
    const second = await open(root, commit, build);
    expect(first).toMatchObject({ kind: 'built', build: { root: join(root, 'dist/reference', commit) } });
    expect(second).toEqual(first);
    expect(built).toHaveLength(1);
    expect(readdirSync(join(root, 'dist/reference'))).toEqual([commit]);
  });

  test('A newly built reference replaces the earlier one in the cache', async () => {
    const { root, commit } = projectOf(INTERFACE);
    mkdirSync(join(root, 'dist/reference', '1'.repeat(40)), { recursive: true });
    await open(root, commit, fakeBuild);
    expect(readdirSync(join(root, 'dist/reference'))).toEqual([commit]);
  });

  test('A failed build of the reference leaves nothing in the cache', async () => {
    const { root, commit } = projectOf(INTERFACE);
    await expect(open(root, commit, () => Promise.reject(new Error('no compiler')))).rejects.toThrow('no compiler');
    expect(readdirSync(join(root, 'dist/reference'))).toEqual([]);
  });

  test('A history without the commit, such as a shallow clone, has no reference and is no error', async () => {
    const { root } = projectOf(INTERFACE);
    expect(await open(root, '0'.repeat(40))).toEqual({
      kind: 'absent',
      detail: `this history does not contain commit ${'0'.repeat(40)}`,
    });
  });

  test('While no commit is named there is no reference, and the reason is reported', async () => {
    const { root } = projectOf(INTERFACE);
    expect(await open(root, null)).toEqual({
      kind: 'absent',
      detail: 'bench/check/reference.json names no commit: of this test',
    });
  });

  test('A reference that is not a complete hash is refused', async () => {
    const { root } = projectOf(INTERFACE);
    expect(await open(root, 'main')).toMatchObject({
      kind: 'refused',
      detail: expect.stringContaining('main') as string,
    });
  });

  test.each([
    ['{ "version": 0 }', 'speaks version 0 of bench/check/interface.json, but this check speaks version 1'],
    [null, 'has no bench/check/interface.json, but this check speaks version 1'],
  ])('A reference with the interface %s is refused before it is built', async (text, sentence) => {
    const { root, commit } = projectOf(text);
    const refused = await open(root, commit, () => Promise.reject(new Error('it was built')));
    expect(refused).toEqual({
      kind: 'refused',
      detail: `the reference ${commit.slice(0, 12)} ${sentence}: name a commit with version 1 in bench/check/reference.json`,
    });
  });

  test('A folder whose programs are missing cannot be measured', async () => {
    const { root } = projectOf(INTERFACE);
    expect(interfaceFault(root, 'it')).toBeNull();
    expect(buildFault({ name: 'it', root })).toMatch(/^it is not built: there is no .*dist\/app\/main\.js$/);
    await fakeBuild(root);
    expect(buildFault({ name: 'it', root })).toBeNull();
  });

  test('The named reference is a complete hash or absent with a reason', () => {
    const named = JSON.parse(readFileSync(join(ROOT, 'bench/check/reference.json'), 'utf8')) as Record<string, unknown>;
    expect(named).toEqual({ commit: named['commit'], why: expect.stringMatching(/\w/) as string });
    if (named['commit'] !== null) expect(named['commit']).toMatch(/^[0-9a-f]{40}$/);
  });
});

test.each(SLOW_PLACES.map((place) => [place.id, place] as const))(
  'The proof finds its function in the built service: %s',
  (_id, place) => {
    const files = filesOf(place, ROOT);
    expect(files.length).toBeGreaterThan(1);
    for (const file of files)
      expect(addSpin(readFileSync(join(ROOT, file), 'utf8'), place, { file, turns: 40 })).toContain(
        `${place.anchor} spinInVain(40);`,
      );
    expect(STAGES.map(({ id }) => id)).toEqual(expect.arrayContaining([place.stage, place.control]));
    expect(() => addSpin('', place, { file: 'some.js', turns: 40 })).toThrow(
      `some.js contains "${place.anchor}" 0 times`,
    );
  },
);

describe('bench:check, built and from the command line', () => {
  const run = (...words: string[]): Promise<{ stdout: string }> =>
    promisify(execFile)(process.execPath, [CHECK, '--smoke', ...words]);

  test('bench:check refuses an unknown stage', async () => {
    await expect(run('--stages', 'verify,nothing')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('"nothing" is not one of verify, engine') as string,
    });
  });

  test('bench:check refuses a reference that it cannot drive', async () => {
    await expect(run('--reference', temporaryFolder())).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has no bench/check/interface.json') as string,
    });
  });
});
