import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Functions of the built service that a proof of the check makes slower, in a copy: never in the service itself. */
export interface SlowPlace {
  readonly id: string;
  readonly title: string;
  /** From the root of the project, built; the function is in the bundle of the server too. */
  readonly file: string;
  /** Stands exactly once in the file; the useless work goes right behind it. */
  readonly anchor: string;
  /** How many units of the stage one call stands for, as an expression of the function. */
  readonly units: string;
  /** The stage that must turn red, and one that the function is no part of. */
  readonly stage: string;
  readonly control: string;
}

export const SLOW_PLACES: readonly SlowPlace[] = [
  {
    id: 'signature',
    title: 'verification of the signature',
    file: 'dist/src/decide/verify.js',
    anchor: 'function verifySignature(head, body, key) {',
    units: '1',
    stage: 'verify',
    control: 'engine-no-memory',
  },
  {
    id: 'velocity',
    title: 'counting in the velocity store',
    file: 'dist/src/velocity/local-velocity.js',
    anchor: 'observe(events) {',
    units: 'events.length',
    stage: 'engine',
    control: 'engine-no-memory',
  },
  {
    id: 'respond',
    title: 'answering a decision over HTTP',
    file: 'dist/src/decide/respond.js',
    anchor: 'const latencyMs = performance.now() - pending.startedAtMs;',
    units: '1',
    stage: 'decide-uws',
    control: 'verify',
  },
];

const BUNDLE = 'dist/app';

/** Where the function is: the module, which stages of one thread run, and the files of the bundle, which the server runs. */
export function filesOf({ file, anchor }: SlowPlace, root: string): readonly string[] {
  const bundled = readdirSync(join(root, BUNDLE))
    .filter((name) => name.endsWith('.js'))
    .map((name) => join(BUNDLE, name))
    .filter((path) => readFileSync(join(root, path), 'utf8').includes(anchor));
  if (bundled.length === 0) throw new Error(`no file of ${BUNDLE} has "${anchor}"`);
  return [file, ...bundled];
}

/** The file's text with work of no use in the function. Throws when the anchor is not there exactly once. */
export function addSpin(text: string, { file, anchor, units }: SlowPlace, turns: number): string {
  const parts = text.split(anchor);
  if (parts.length !== 2) throw new Error(`${file} has "${anchor}" ${parts.length - 1} times`);
  return `${parts.join(`${anchor} spinInVain(${turns} * ${units});`)}\nvar spun = 1;\n${spinInVain.toString()}\n`;
}

let spun = 1;

/** Each turn needs the result of the one before, and the last is kept, so that no compiler leaves any out. */
function spinInVain(turns: number): void {
  let value = spun;
  for (let n = turns; n > 0; n--) value = (Math.imul(value, 1_664_525) + 1_013_904_223) | 0;
  spun = value;
}

const TRIES = 9;
const TURNS = 4_000_000;

/** µs of processor time per turn: of several tries the median. */
export function measureSpin(): number {
  const us = Array.from({ length: TRIES }, () => {
    const from = process.cpuUsage();
    spinInVain(TURNS);
    return process.cpuUsage(from).user / TURNS;
  });
  return us.sort((a, b) => a - b)[TRIES >> 1] ?? Number.NaN;
}
