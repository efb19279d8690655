import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Functions of the built service that the proof of the check slows down. Only a copy is modified, never the service itself. */
export interface SlowPlace {
  readonly id: string;
  readonly title: string;
  /** Path of the built module, relative to the project root; the server's bundle contains the function too. */
  readonly file: string;
  /**
   * Text that occurs exactly once in the file and runs once for each unit of the stage; the useless work is inserted directly after it. A
   * loop in a function that runs once for a batch is compiled late, and takes several times as long as reckoned.
   */
  readonly anchor: string;
  /** The stage that must fail, and one that does not use the function. */
  readonly stage: string;
  readonly control: string;
}

export const SLOW_PLACES: readonly SlowPlace[] = [
  {
    id: 'signature',
    title: 'signature verification',
    file: 'dist/src/auth/verify.js',
    anchor: 'function verifySignature(head, body, key) {',
    stage: 'verify',
    control: 'engine',
  },
  {
    id: 'velocity',
    title: 'counting in the velocity store',
    file: 'dist/src/velocity/local-velocity.js',
    anchor: 'this.#table.owner = ownerOf(event.customer, event.publicKey);',
    stage: 'engine',
    control: 'verify',
  },
  {
    id: 'respond',
    title: 'responding to a decision over HTTP',
    file: 'dist/src/decide/respond.js',
    anchor: 'const latencyMs = performance.now() - startedAtMs;',
    stage: 'decide',
    control: 'extraction',
  },
];

const BUNDLE = 'dist/app';

/**
 * Returns the files that contain the function: the module, which the single-threaded stages run, and the bundle files, which the server
 * runs.
 */
export function filesOf({ file, anchor }: SlowPlace, root: string): readonly string[] {
  const bundled = readdirSync(join(root, BUNDLE))
    .filter((name) => /\.c?js$/.test(name))
    .map((name) => join(BUNDLE, name))
    .filter((path) => readFileSync(join(root, path), 'utf8').includes(anchor));
  if (bundled.length === 0) throw new Error(`no file of ${BUNDLE} contains "${anchor}"`);
  return [file, ...bundled];
}

/** Inserts useless work into the function in the text of the file. Throws unless the anchor occurs exactly once. */
export function addSpin(text: string, { anchor }: SlowPlace, { file, turns }: { file: string; turns: number }): string {
  const parts = text.split(anchor);
  if (parts.length !== 2) throw new Error(`${file} contains "${anchor}" ${parts.length - 1} times`);
  return `${parts.join(`${anchor} spinInVain(${turns});`)}\nvar spun = 1;\n${spinInVain.toString()}\n`;
}

let spun = 1;

/** Each iteration depends on the previous result, and the last result is kept, so that no compiler can remove any of them. */
function spinInVain(turns: number): void {
  let value = spun;
  for (let n = turns; n > 0; n--) value = (Math.imul(value, 1_664_525) + 1_013_904_223) | 0;
  spun = value;
}

const TRIES = 9;
const TURNS = 4_000_000;

/** Processor time per iteration, µs: the median of several tries. */
export function measureSpin(): number {
  const us = Array.from({ length: TRIES }, () => {
    const from = process.cpuUsage();
    spinInVain(TURNS);
    return process.cpuUsage(from).user / TURNS;
  });
  return us.sort((a, b) => a - b)[TRIES >> 1] ?? Number.NaN;
}
