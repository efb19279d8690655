import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Set by the build in the bundle, where all programs and their shared parts are in one folder, `dist/app`. */
declare const BUNDLED: true | undefined;

const IS_BUNDLED = typeof BUNDLED !== 'undefined';
/** Unit tests run from the sources. */
const IS_SOURCE = import.meta.url.endsWith('.ts');

/** Programs that run in their own thread or process: the source file without its extension. `scripts/bundle.ts` bundles each. */
export const PROGRAMS = {
  cell: 'workers/cell',
  score: 'workers/score',
  deliver: 'workers/deliver',
  engine: 'workers/engine',
  extract: 'workers/extract',
  read: 'workers/read',
  velocity: 'workers/velocity',
  watchdog: 'workers/watchdog',
  'integrity-check-child': 'src/state/repair/integrity-check-child',
  'model-check-child': 'src/score/model-check-child',
  'geo-check-child': 'src/assets/geo-check-child',
  'backtest-child': 'src/replay/backtest-child',
  'feed-child': 'src/data/feed-child',
  'feed-update-child': 'src/data/feed-update-child',
} as const;

/** Returns the URL of a program: in the bundle beside this file, for unit tests in the bundle, otherwise the compiled file. */
export function programUrl(name: keyof typeof PROGRAMS): URL {
  if (IS_BUNDLED) return new URL(`./${name}.js`, import.meta.url);
  // Bundled programs start in two thirds of the processor time of compiled ones.
  if (IS_SOURCE) return new URL(`../../dist/app/${name}.js`, import.meta.url);
  return new URL(`../../${PROGRAMS[name]}.js`, import.meta.url);
}

export function programPath(name: keyof typeof PROGRAMS): string {
  return fileURLToPath(programUrl(name));
}

/** Bytes of a file that the service sends, and the same compressed; null if the build made none. */
interface WebFile {
  readonly identity: Buffer;
  readonly br: Buffer | null;
  readonly gzip: Buffer | null;
}

/** Returns docs/openapi.json. In the bundle it is a copy without white space, which the build compresses and puts beside this file. */
export function readOpenApi(): WebFile {
  const fromHere = IS_BUNDLED ? './openapi.json' : `${IS_SOURCE ? '../..' : '../../..'}/docs/openapi.json`;
  const read = (suffix: string): Buffer => readFileSync(new URL(`${fromHere}${suffix}`, import.meta.url));
  return { identity: read(''), br: IS_BUNDLED ? read('.br') : null, gzip: IS_BUNDLED ? read('.gz') : null };
}

/** Returns the folder of pages that the build makes for browsers, with a slash at its end. */
export function webFolder(name: 'dashboard' | 'collector'): URL {
  const dist = IS_BUNDLED ? '..' : IS_SOURCE ? '../../dist' : '../..';
  return new URL(`${dist}/web/${name}/`, import.meta.url);
}

/** Returns the folder of the documentation that the build renders, with a slash at its end. */
export function docsFolder(): URL {
  return new URL(IS_BUNDLED ? '../docs/' : IS_SOURCE ? '../../dist/docs/' : '../../docs/', import.meta.url);
}

/** Returns the folder of the shipped feeds and of the database that the build compiles from them, with a slash at its end. */
export function feedSnapshotFolder(): URL {
  return new URL(IS_BUNDLED ? './feeds/' : IS_SOURCE ? '../../dist/app/feeds/' : '../../app/feeds/', import.meta.url);
}

/** Returns the version of this installation; '' if its package.json cannot be read. */
export function versionOfInstallation(): string {
  const file = new URL(IS_BUNDLED || IS_SOURCE ? '../../package.json' : '../../../package.json', import.meta.url);
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const version = typeof parsed === 'object' && parsed !== null && 'version' in parsed ? parsed.version : '';
    return typeof version === 'string' ? version : '';
  } catch {
    return '';
  }
}
