import { writeFileSync } from 'node:fs';
import { baselineOf, processorName, readBaselines, type StageBaseline, writeBaseline } from './check/baseline.ts';
import { readOptions } from './check/options.ts';
import { readOrExit } from './read-or-exit.ts';
import { jsonOf, resultOf, type Row, type StageResult, tableOf } from './check/report.ts';
import type { Effort, Form } from './check/stage.ts';
import { PROBES, STAGES } from './check/stages.ts';
import { fails, judge, lineOf, noBaselineLine, remarks } from './check/verdict.ts';

/**
 * Compares the cost of each stage with the committed baseline. `--help` lists the options; docs/architecture.md explains how to read the
 * result. Uses loopback only and is bounded in time and in the number of requests.
 */

const options = readOrExit(readOptions, 2);
const form: Form = options.smoke ? 'smoke' : options.quick ? 'quick' : 'full';
if (options.writeBaseline) await renewBaseline();
else await check();

/** Measures a slower stage again with twice the slices; only the second verdict counts, so a single stall does not fail the check. */
async function check(): Promise<void> {
  const { processors } = readBaselines(options.baseline);
  const baseline = processors[processorName()] ?? null;
  const judged = (result: StageResult): Row => ({
    result,
    verdict: judge(result, baseline?.stages[result.stage.id]),
  });
  let rows = (await measure(options.stages, { form, times: 1 })).map(judged);
  const slower = form === 'smoke' ? [] : rows.filter(({ verdict }) => verdict.kind === 'slower');
  if (slower.length > 0) {
    console.log(`measuring again with twice the slices: ${slower.map(({ result }) => result.stage.title).join('; ')}`);
    const ids = slower.map(({ result }) => result.stage.id);
    const second = (await measure(ids, { form, times: 2 })).map(judged);
    rows = rows.map((row) => second.find(({ result }) => result.stage === row.result.stage) ?? row);
  }
  console.log(tableOf(rows));
  for (const { result } of rows) for (const note of result.notes) console.log(note);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(jsonOf(rows), null, 1)}\n`);
  if (form === 'smoke') return;
  const runs = rows.map(({ result }) => [result.stage, result] as const);
  if (baseline === null) {
    console.log(noBaselineLine(processorName(), Object.keys(processors)));
    return;
  }
  for (const remark of remarks(baseline, process.version, runs)) console.log(remark);
  for (const { result, verdict } of rows) {
    const line = lineOf(result.stage, verdict);
    if (line !== null) console.log(line);
  }
  if (rows.some(({ verdict }) => fails(verdict, options.failFrom))) process.exitCode = 1;
}

async function renewBaseline(): Promise<void> {
  const results: StageResult[] = [];
  for (let run = 0; run < options.runs; run++) {
    const some = await measure(options.stages, { form, times: 1 });
    results.push(...some);
    const figures = some.map(({ stage, ratio }) => `${stage.id} ${ratio.toFixed(3)}`);
    console.log(`run ${run + 1} of ${options.runs}: ${figures.join(', ')}`);
  }
  const stages: Record<string, StageBaseline> = {};
  for (const stage of STAGES) {
    const runs = results.filter((result) => result.stage === stage);
    if (runs.length === 0) continue;
    const one = baselineOf(stage, runs);
    stages[stage.id] = one;
    const noisy =
      one.tolerance > 1 + stage.tolerance.ceiling ? ', TOO NOISY: needs more slices or a quieter machine' : '';
    console.log(`${stage.title}: ratio ${one.ratio}, spread ${one.spread}, tolerance ${one.tolerance}${noisy}`);
  }
  writeBaseline(options.baseline, form, stages);
}

/** Measures the stages in registry order. Prints and skips those that cannot be measured on this machine. */
async function measure(ids: readonly string[], effort: Effort): Promise<readonly StageResult[]> {
  const results: StageResult[] = [];
  for (const probe of PROBES) {
    const stages = probe.stages.filter(({ id }) => ids.includes(id));
    if (stages.length === 0) continue;
    const titles = stages.map(({ title }) => title).join('; ');
    const unavailable = probe.unavailable?.() ?? null;
    if (unavailable !== null) {
      console.log(`not measured here: ${titles}: ${unavailable}`);
      continue;
    }
    const fromMs = performance.now();
    const measured = await probe.measure(new Set(stages.map(({ id }) => id)), effort);
    console.log(`${titles}: ${((performance.now() - fromMs) / 1_000).toFixed(1)} s`);
    for (const stage of stages) {
      const one = measured.find((found) => found.stage === stage.id);
      if (one !== undefined) results.push(resultOf(stage, one));
    }
  }
  return results;
}
