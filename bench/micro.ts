import { helpIfAsked } from '../scripts/usage.ts';
import { collectGarbage } from './micro/fixtures.ts';
import { ALL_STAGES } from './micro/index.ts';
import { type Row, runStage } from './micro/stage.ts';

/**
 * Measures each stage of a decision in isolation, ns per operation. Mean, median and p99 are those of the samples. Results are valid for
 * one machine at one time: compare rows of one run only.
 */
helpIfAsked(`
bench [--smoke] [<word> ...]

  <word>   runs only the stages whose names contain one of the words
  --smoke  runs a few samples of each stage over small data`);

const words = process.argv.slice(2);
const smoke = words.includes('--smoke');
const wanted = words.filter((word) => word !== '--smoke').map((word) => word.toLowerCase());
const chosen = ALL_STAGES.filter(
  ({ name }) => wanted.length === 0 || wanted.some((word) => name.toLowerCase().includes(word)),
);

if (chosen.length === 0) {
  console.error(`no stage matches; available stages: ${ALL_STAGES.map(({ name }) => name).join(', ')}`);
  process.exitCode = 1;
}

const notes: string[] = [];
if (chosen.length > 0) print('stage', 'task', 'ns/op', 'median', 'p99', 'samples', 'ops/sample');
for (const stage of chosen) {
  collectGarbage();
  const result = await runStage(stage, { smoke });
  for (const row of result.rows) printRow(row);
  notes.push(...result.notes);
}
for (const note of notes) console.log(note);

function printRow({ stage, task, meanNs, medianNs, p99Ns, samples, perSample }: Row): void {
  print(stage, task, figure(meanNs), figure(medianNs), figure(p99Ns), String(samples), String(perSample));
}

function print(stage: string, task: string, ...figures: readonly string[]): void {
  console.log([stage.padEnd(13), task.padEnd(42), ...figures.map((text) => text.padStart(10))].join(' '));
}

function figure(ns: number): string {
  return ns < 100 ? ns.toFixed(1) : ns.toFixed(0);
}
