import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The interface between the check and the build that it measures. The check starts nothing of a build except these two programs, and
 * measures two builds only if both name the same version of the interface in `bench/check/interface.json`:
 *
 * - `dist/app/main.js`, the command line and the server: `--json --data-dir <folder> customers create <name>` prints `customer_id`,
 *   `… keys create --customer <id> --rate-limit <n>` prints `secret_key`, and `serve` with settings `GATEHOUSE_…` prints a line of JSON
 *   with `"msg":"serving"` and its `url`. The server is then used through its public API: `GET /readyz`, `POST /v1/decide`,
 *   `POST /v1/webhooks`, `POST /v1/extractions`, `GET /v1/extractions/{id}?wait=30`.
 * - `dist/bench/check/work-process.js`, the single-threaded stages: see `WorkOrder` and `WorkReport`.
 *
 * A change of what is started, of an order, of a report or of the work behind an order raises the version. The commit that raises it names
 * no reference; the next one names that commit.
 */
export interface Build {
  /** Shown in reports. */
  readonly name: string;
  /** Project folder that contains `dist` and `node_modules`. */
  readonly root: string;
}

/** Order to the work process: performs `units` units of one kind of work. Each order is answered by one report. */
export interface WorkOrder {
  readonly work: string;
  readonly units: number;
}

/** `ready` is sent once, when all work has been prepared; `done` after each order. */
export type WorkReport = { readonly kind: 'ready' } | { readonly kind: 'done' };

/** Folder of the project that contains this module, as source or built. */
export const ROOT = projectAround(import.meta.dirname);

const INTERFACE_FILE = 'bench/check/interface.json';

export function serverProgramOf({ root }: Build): string {
  return join(root, 'dist/app/main.js');
}

export function workProgramOf({ root }: Build): string {
  return join(root, 'dist/bench/check/work-process.js');
}

/** Returns why the check cannot drive a project folder, or null if it can. `root`: the folder, which need not be built yet. */
export function interfaceFault(root: string, name: string): string | null {
  const own = versionOf(ROOT);
  const other = versionOf(root);
  if (other === own) return null;
  const theirs = other === null ? `has no ${INTERFACE_FILE}` : `speaks version ${other} of ${INTERFACE_FILE}`;
  return `${name} ${theirs}, but this check speaks version ${own}: name a commit with version ${own} in bench/check/reference.json`;
}

/** Returns why a folder cannot be measured as it is, or null if it can. */
export function buildFault(build: Build): string | null {
  const fault = interfaceFault(build.root, build.name);
  if (fault !== null) return fault;
  const absent = [serverProgramOf(build), workProgramOf(build)].find((path) => !existsSync(path));
  return absent === undefined ? null : `${build.name} is not built: there is no ${absent}`;
}

function versionOf(root: string): number | null {
  try {
    const { version } = JSON.parse(readFileSync(join(root, INTERFACE_FILE), 'utf8')) as { version?: unknown };
    return typeof version === 'number' ? version : null;
  } catch {
    return null;
  }
}

function projectAround(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : projectAround(dirname(folder));
}
