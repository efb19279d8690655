import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Command, InvalidArgumentError } from 'commander';
import { ROOT } from './build.ts';
import { addSpin, filesOf, measureSpin, SLOW_PLACES, type SlowPlace } from './slow-places.ts';

/**
 * Proves that the check detects a slow-down: compares this build with copies of it in which one function does enough useless work to make
 * its stage slower by the given share. For each copy the check must fail and name that stage; a control stage must stay green, so that
 * nothing else has changed. An unmodified copy must pass. Exits with 1 when any slow-down goes undetected.
 */

const OUTPUT_BYTES_MAX = 2 ** 24;

interface Options {
  readonly percent: number;
  readonly places: readonly SlowPlace[];
  readonly full: boolean;
}

interface Outcome {
  readonly code: number;
  readonly output: string;
  readonly stages: readonly { readonly id: string; readonly ours_us: number; readonly verdict: string }[];
}

const options = new Command('npm run bench:check:prove --')
  .option('--percent <n>', 'how much slower to make the stage', percent, 15)
  .option('--places <id,…>', `some of ${SLOW_PLACES.map(({ id }) => id).join(', ')}`, places, SLOW_PLACES)
  .option('--full', 'use the full form of the check instead of --quick', false)
  .parse()
  .opts<Options>();
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-prove-'));
let failures = 0;

try {
  const unmodified = await measureUnmodified();
  for (const place of options.places) await prove(place, unmodified);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(failures === 0 ? 'every slow-down was detected' : `${failures} comparisons had the wrong result`);
if (failures > 0) process.exitCode = 1;

/** Compares the unmodified build with itself: it must pass, and its costs are what the slow-downs are shares of. */
async function measureUnmodified(): Promise<Outcome> {
  const stages = new Set(options.places.flatMap(({ stage, control }) => [stage, control]));
  const outcome = await check(ROOT, [...stages]);
  console.log(`${outcome.code === 0 ? 'PASSED' : 'DID NOT PASS'}: the unmodified build`);
  if (outcome.code !== 0) {
    failures++;
    console.log(outcome.output);
  }
  return outcome;
}

async function prove(place: SlowPlace, unmodified: Outcome): Promise<void> {
  const oursUs = unmodified.stages.find(({ id }) => id === place.stage)?.ours_us;
  if (oursUs === undefined) throw new Error(`${place.stage} was not measured:\n${unmodified.output}`);
  const turns = Math.round((oursUs * (options.percent / 100)) / measureSpin());
  const slowed = await check(slowCopy(place, turns), [place.stage, place.control]);
  const isSeen =
    slowed.code === 1 && verdictOf(slowed, place.stage) === 'slower' && verdictOf(slowed, place.control) !== 'slower';
  console.log(
    `${isSeen ? 'DETECTED' : 'NOT DETECTED'}: ${place.title}, ${options.percent} % of ${oursUs.toFixed(2)} µs`,
  );
  for (const line of slowed.output.split('\n')) if (/^(?:SLOWER|FASTER)/.test(line)) console.log(`  ${line}`);
  console.log(`  ${place.control}: ${verdictOf(slowed, place.control)}`);
  if (!isSeen) {
    failures++;
    console.log(slowed.output);
  }
}

function verdictOf({ stages }: Outcome, id: string): string {
  return stages.find((one) => one.id === id)?.verdict ?? 'absent';
}

/** Copies the built project and slows one function of the copy. The copy resolves packages through a symbolic link. */
function slowCopy(place: SlowPlace, turns: number): string {
  const copy = mkdtempSync(join(folder, `${place.id}-`));
  const builtReferences = join(ROOT, 'dist/reference');
  for (const name of ['package.json', 'dist'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true, filter: (path) => path !== builtReferences });
  for (const name of ['node_modules', 'models', 'bench']) symlinkSync(join(ROOT, name), join(copy, name));
  for (const path of filesOf(place, copy)) {
    const file = join(copy, path);
    writeFileSync(file, addSpin(readFileSync(file, 'utf8'), place, { file: path, turns }));
  }
  return copy;
}

/** Compares a build with the unmodified one. */
async function check(root: string, stages: readonly string[]): Promise<Outcome> {
  const json = join(folder, 'outcome.json');
  const words = ['--stages', stages.join(','), '--build', root, '--reference', ROOT, '--json', json];
  const ran = await promisify(execFile)(
    process.execPath,
    [join(ROOT, 'dist/bench/check.js'), ...words, ...(options.full ? [] : ['--quick'])],
    { maxBuffer: OUTPUT_BYTES_MAX },
  ).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    (error: { code?: unknown; stdout?: string; stderr?: string }) => {
      // Exit code 1 is a verdict; any other code is an error of the check itself.
      if (error.code !== 1 || !/^SLOWER/m.test(error.stdout ?? '')) throw new Error(`${error.stdout}${error.stderr}`);
      return { code: 1, output: error.stdout ?? '' };
    },
  );
  return { ...ran, stages: (JSON.parse(readFileSync(json, 'utf8')) as Outcome).stages };
}

function percent(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 1_000)) throw new InvalidArgumentError('expected a percentage above 0 and at most 1000.');
  return value;
}

function places(text: string): readonly SlowPlace[] {
  return text.split(',').map((id) => {
    const place = SLOW_PLACES.find((one) => one.id === id);
    if (place === undefined) throw new InvalidArgumentError(`"${id}" is not one of them.`);
    return place;
  });
}
