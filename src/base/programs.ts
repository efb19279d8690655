import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Set by the build in the bundle, where all programs and their shared parts lie in one folder, `dist/app`. */
declare const BUNDLED: true | undefined;

const IS_BUNDLED = typeof BUNDLED !== 'undefined';
/** Unit tests run from the sources. */
const IS_SOURCE = import.meta.url.endsWith('.ts');

/** What runs in a thread or a process of its own: its source file, without the ending. `scripts/bundle.ts` bundles each. */
export const PROGRAMS = {
  score: 'workers/score',
  deliver: 'workers/deliver',
  extract: 'workers/extract',
  read: 'workers/read',
  velocity: 'workers/velocity',
  'probe-child': 'src/store/probe-child',
  'model-check-child': 'src/score/model-check-child',
} as const;

/** The runnable file of a program: in the bundle the one beside this file, for unit tests the bundled one, else the compiled one. */
export function programUrl(name: keyof typeof PROGRAMS): URL {
  if (IS_BUNDLED) return new URL(`./${name}.js`, import.meta.url);
  // Bundled programs start in two thirds of the processor time of compiled ones.
  if (IS_SOURCE) return new URL(`../../dist/app/${name}.js`, import.meta.url);
  return new URL(`../../${PROGRAMS[name]}.js`, import.meta.url);
}

export function programPath(name: keyof typeof PROGRAMS): string {
  return fileURLToPath(programUrl(name));
}

/** The version of this installation; '' where its package.json cannot be read. */
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
