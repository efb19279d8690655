import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Build, buildFault, interfaceFault } from './build.ts';

/** The build that this one is compared with: a commit of the same history, built on this machine. */

export type Reference =
  | { readonly kind: 'built'; readonly build: Build }
  /** There is nothing to compare with, which is no error: the check reports without a verdict. */
  | { readonly kind: 'absent'; readonly detail: string }
  /** There is a reference, but the check cannot use it. */
  | { readonly kind: 'refused'; readonly detail: string };

/** Content of `bench/check/reference.json`. */
interface NamedReference {
  /** Complete hash; null while no commit has the present interface. */
  readonly commit: string | null;
  readonly why: string;
}

export interface ReferenceParts {
  /** Folder of the project, with its history. */
  readonly root: string;
  /** Builds a checked-out folder. Only tests replace it. */
  readonly build?: (folder: string, root: string) => Promise<void>;
}

const COMMIT = /^[0-9a-f]{40}$/;
/** Built references, one folder per commit. `dist` is not part of the history. */
const CACHE = 'dist/reference';
const BUILD_MS_MAX = 600_000;
const OUTPUT_BYTES_MAX = 2 ** 24;
const run = promisify(execFile);

/** Returns the named reference. Builds it when it is not in the cache, which takes about 15 s, or longer if its packages differ. */
export async function openReference({ root, build = buildFolder }: ReferenceParts): Promise<Reference> {
  const { commit, why } = readNamed(root);
  if (commit === null) return { kind: 'absent', detail: `bench/check/reference.json names no commit: ${why}` };
  if (!COMMIT.test(commit))
    return { kind: 'refused', detail: `bench/check/reference.json names no complete hash of a commit: ${commit}` };
  const name = `the reference ${commit.slice(0, 12)}`;
  const folder = join(root, CACHE, commit);
  if (!existsSync(folder)) {
    if (!(await hasCommit(root, commit)))
      return { kind: 'absent', detail: `this history does not contain commit ${commit}` };
    const fault = await checkOutAndBuild(root, commit, { name, folder, build });
    if (fault !== null) return { kind: 'refused', detail: fault };
  }
  return openBuild({ name, root: folder });
}

/** Returns a folder that is already built. */
export function openBuild(build: Build): Reference {
  const fault = buildFault(build);
  return fault === null ? { kind: 'built', build } : { kind: 'refused', detail: fault };
}

function readNamed(root: string): NamedReference {
  return JSON.parse(readFileSync(join(root, 'bench/check/reference.json'), 'utf8')) as NamedReference;
}

async function hasCommit(root: string, commit: string): Promise<boolean> {
  try {
    await run('git', ['-C', root, 'cat-file', '-e', `${commit}^{commit}`]);
    return true;
  } catch {
    // No such commit (a shallow clone), no history, or no git.
    return false;
  }
}

interface Target {
  readonly name: string;
  readonly folder: string;
  readonly build: (folder: string, root: string) => Promise<void>;
}

/** Works in a temporary folder beside the final one and renames it at the end, so that an interrupted build is never used. */
async function checkOutAndBuild(root: string, commit: string, target: Target): Promise<string | null> {
  mkdirSync(join(root, CACHE), { recursive: true });
  const work = mkdtempSync(join(root, CACHE, 'building-'));
  try {
    await run('git', ['clone', '--quiet', '--shared', '--no-checkout', root, work]);
    await run('git', ['-C', work, 'checkout', '--quiet', '--detach', commit]);
    // Before the build, which may take minutes.
    const fault = interfaceFault(work, target.name);
    if (fault !== null) return fault;
    await target.build(work, root);
    // Another check may have finished the same build meanwhile.
    if (!existsSync(target.folder)) renameSync(work, target.folder);
    removeOthers(root, commit);
    return null;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Keeps the disk space bounded: earlier references are not needed any more. */
function removeOthers(root: string, commit: string): void {
  for (const name of readdirSync(join(root, CACHE)))
    if (COMMIT.test(name) && name !== commit) rmSync(join(root, CACHE, name), { recursive: true, force: true });
}

/** Uses the packages of the project where both lock files are alike. */
async function buildFolder(folder: string, root: string): Promise<void> {
  const npm = (...words: string[]): Promise<unknown> =>
    run('npm', words, { cwd: folder, timeout: BUILD_MS_MAX, maxBuffer: OUTPUT_BYTES_MAX });
  if (lockOf(folder) === lockOf(root)) symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  else await npm('ci');
  await npm('run', '-s', 'build');
}

function lockOf(folder: string): string {
  return readFileSync(join(folder, 'package-lock.json'), 'utf8');
}
