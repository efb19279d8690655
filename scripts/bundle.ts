import { readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { PROGRAMS } from '../src/base/programs.ts';
import { helpIfAsked } from './usage.ts';

/**
 * Bundles the server, its threads and child processes, and the command line into `dist/app`. Part of the build; runs in the
 * project's folder.
 *
 * Measured: reading and compiling 700 files takes 0.75 s of processor time at a start, the bundle's 0.35 s.
 */
const APP = 'dist/app';

helpIfAsked(`bundle\n\nWrites ${APP}; run it from the project's folder, after the compiler.`);

interface Crawler {
  readonly pattern: string;
  readonly tags?: readonly string[];
}

/** Keeps the two fields that are used of each crawler. Measured: 60 KB are left of 525. */
const onlyUsedFields: Plugin = {
  name: 'only-used-fields',
  setup(bundler) {
    bundler.onLoad({ filter: /crawler-user-agents\.json$/ }, async ({ path }) => {
      const crawlers = JSON.parse(await readFile(path, 'utf8')) as readonly Crawler[];
      return { loader: 'json', contents: JSON.stringify(crawlers.map(({ pattern, tags }) => ({ pattern, tags }))) };
    });
  },
};

const { metafile } = await build({
  // Flat names: `programUrl` finds each program beside the file that asks for it.
  entryPoints: {
    main: 'src/cli/main.ts',
    ...Object.fromEntries(Object.entries(PROGRAMS).map(([name, path]) => [name, `${path}.ts`])),
  },
  outdir: APP,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // Native modules, and packages that look for files of their own beside themselves.
  external: ['lmdb', 'msgpackr', 'piscina'],
  // CommonJS packages inside the bundle load Node's own modules by `require`.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);",
  },
  define: { BUNDLED: 'true' },
  plugins: [onlyUsedFields],
  // Not minified, so that a stack in the log can be read. The maps lead to the lines of the sources.
  sourcemap: 'linked',
  sourcesContent: false,
  metafile: true,
  logLevel: 'warning',
});

// Afterwards, and only what is left of earlier builds: a server may be running from this folder.
const built = new Set(Object.keys(metafile.outputs).map((path) => basename(path)));
for (const name of await readdir(APP)) if (!built.has(name)) await rm(join(APP, name));
