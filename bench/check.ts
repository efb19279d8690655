import { writeFileSync } from 'node:fs';
import { ROOT } from './check/build.ts';
import { CELLS_RATIO_MAX, measureCells } from './check/cells.ts';
import { hasTooManyCalls, hotThreadJson, hotThreadLine, measureHotThread } from './check/hot-thread.ts';
import { type LapPlan, measureLaps } from './check/laps.ts';
import { readNoise, toleranceFor, writeNoise } from './check/noise.ts';
import { readOptions } from './check/options.ts';
import { openBuild, openReference, type Reference } from './check/reference.ts';
import { jsonOf, resultOf, type Row, tableOf } from './check/report.ts';
import type { Builds } from './check/stage.ts';
import { PROBES, STAGES } from './check/stages.ts';
import { runTolerance, toleranceOf } from './check/statistics.ts';
import { busyLine, judge, lineOf } from './check/verdict.ts';
import { readOrExit } from './read-or-exit.ts';

/**
 * Compares the cost of each stage with that of the reference build in the same run. `--help` lists the options; docs/architecture.md
 * explains how to read the result. Uses loopback only and is bounded in time and in the number of requests.
 */

const options = readOrExit(readOptions, 2);
const SMOKE: LapPlan = { isSmoke: true, secondsMax: 0, lapsMin: 1, lapsMax: 1 };
/** A lap takes 20 to 40 s on two processors. Measured: after one lap the error of webhooks alone is 7 %, after two 3.5 %. */
const QUICK: LapPlan = { isSmoke: false, secondsMax: 80, lapsMin: 2, lapsMax: 5 };
const FULL: LapPlan = { isSmoke: false, secondsMax: 400, lapsMin: 3, lapsMax: 40 };
/** Share of the first measurement's time for the second one. */
const SECOND_SHARE = 0.4;

const plan = options.smoke ? SMOKE : options.quick ? QUICK : FULL;
/** Its figures come from /proc. */
const isLinux = process.platform === 'linux';
const ours = { name: 'this build', root: options.build };
const builds = buildsOf(await reference());
if (options.writeNoise) await measureNoise();
else if (!options.prepare) await check();

function reference(): Reference | Promise<Reference> {
  if (options.reference !== undefined) return openBuild({ name: 'the reference', root: options.reference });
  if (options.smoke || options.writeNoise) return openBuild({ name: 'this build', root: options.build });
  return openReference({ root: ROOT });
}

/** Ends the process when either build cannot be driven. */
function buildsOf(found: Reference): Builds {
  const own = openBuild(ours);
  for (const one of [own, found])
    if (one.kind === 'refused') {
      console.error(`bench:check: ${one.detail}`);
      process.exit(2);
    }
  if (found.kind === 'built') return { ours, reference: found.build };
  console.log(
    `NOT JUDGED: ${found.kind === 'absent' ? found.detail : ''}. Without a reference the check only reports.`,
  );
  return { ours, reference: null };
}

/** Measures a slower stage again; only if it is slower again does the check fail, so a single disturbance does not. */
async function check(): Promise<void> {
  let rows = await measure(options.stages, plan);
  const slower = options.smoke ? [] : rows.filter(({ verdict }) => verdict.kind === 'slower');
  if (slower.length > 0) {
    console.log(tableOf(rows));
    console.log(`measuring again: ${slower.map(({ result }) => result.stage.title).join('; ')}`);
    const again = { ...plan, secondsMax: plan.secondsMax * SECOND_SHARE };
    const second = await measure(
      slower.map(({ result }) => result.stage.id),
      again,
    );
    rows = rows.map((row) => second.find(({ result }) => result.stage === row.result.stage) ?? row);
  }
  console.log(tableOf(rows));
  const hot = options.stages.includes('decide') && isLinux ? await measureHotThread(ours, options.smoke) : null;
  if (hot !== null) console.log(hotThreadLine(hot));
  const cells = hot !== null && !options.quick ? await measureCells(ours, options.smoke) : null;
  if (cells !== null) console.log(`two cells: ${cells.toFixed(2)} of the processor time of one`);
  if (options.json !== undefined)
    writeFileSync(
      options.json,
      `${JSON.stringify({ ...jsonOf(rows), hot_thread: hot && hotThreadJson(hot), two_cells: cells }, null, 1)}\n`,
    );
  if (options.smoke) return;
  for (const { result, verdict } of rows) {
    const line = lineOf(result.stage, verdict);
    if (line !== null) console.log(line);
  }
  const busy = busyLine(rows.map(({ result, verdict }) => [result.stage, verdict]));
  if (busy !== null) console.log(busy);
  const isWasteful = hot !== null && hasTooManyCalls(hot);
  if (isWasteful) console.log('SLOWER: system calls of the hot thread: look at src/http');
  const areDear = cells !== null && cells > CELLS_RATIO_MAX;
  if (areDear) console.log('SLOWER: two cells: look at src/http and src/decide');
  if (isWasteful || areDear || rows.some(({ verdict }) => verdict.kind === 'slower')) process.exitCode = 1;
  else if (builds.reference !== null) console.log(`no stage is slower than ${builds.reference.name}`);
}

/** Compares the build with itself: the ratios differ from 1 only by noise. */
async function measureNoise(): Promise<void> {
  const runs: Record<string, number[]> = {};
  for (let run = 0; run < options.runs; run++) {
    const rows = await measure(options.stages, plan);
    for (const { result } of rows) (runs[result.stage.id] ??= []).push(Number((result.ratio ?? Number.NaN).toFixed(4)));
    const figures = rows.map(({ result }) => `${result.stage.id} ${result.ratio?.toFixed(3)}`);
    console.log(`run ${run + 1} of ${options.runs}: ${figures.join(', ')}`);
  }
  writeNoise(runs);
  for (const { id, title } of STAGES) {
    const own = runs[id];
    if (own !== undefined) console.log(`${title}: tolerance ${toleranceOf(own).toFixed(3)}`);
  }
}

async function measure(stages: readonly string[], laps: LapPlan): Promise<readonly Row[]> {
  const fromMs = performance.now();
  const measured = await measureLaps(PROBES, stages, builds, laps);
  const seconds = ((performance.now() - fromMs) / 1_000).toFixed(0);
  console.log(`${Math.max(0, ...measured.map((one) => one.laps.length))} laps in ${seconds} s`);
  const noise = readNoise();
  return measured.map((one) => {
    const result = resultOf(one);
    const ratio = options.smoke ? null : result.ratio;
    const tolerance = runTolerance(toleranceFor(result.stage.id, noise), result.error ?? Number.NaN);
    return { result, verdict: judge(ratio, tolerance) };
  });
}
