import { fileURLToPath } from 'node:url';

/** Set by the build in the bundle, where all programs and their shared parts lie in one folder. */
declare const BUNDLED: true | undefined;

/** What runs in a thread or a process of its own, by where the compiler puts it in `dist/`. */
const PROGRAMS = {
  score: 'workers/score',
  deliver: 'workers/deliver',
  extract: 'workers/extract',
  'probe-child': 'src/store/probe-child',
  'model-check-child': 'src/score/model-check-child',
} as const;

/**
 * The runnable file of a program: in the bundle the one beside this file, else the compiled one. Seen from the sources, as in unit
 * tests, `dist/` has it.
 */
export function programUrl(name: keyof typeof PROGRAMS): URL {
  if (typeof BUNDLED !== 'undefined') return new URL(`./${name}.js`, import.meta.url);
  const dist = import.meta.url.endsWith('.ts') ? '../../dist/' : '../../';
  return new URL(`${dist}${PROGRAMS[name]}.js`, import.meta.url);
}

export function programPath(name: keyof typeof PROGRAMS): string {
  return fileURLToPath(programUrl(name));
}
