import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, type Plugin } from 'esbuild';
import { PROGRAMS } from '../src/kernel/programs.ts';
import { helpIfAsked } from './usage.ts';

/**
 * Bundles the server, its threads and child processes, and the command line into `dist/app`. Part of the build; runs in the project folder.
 *
 * Measured: at start, reading and compiling 700 files takes 0.75 s of processor time, the bundle takes 0.35 s.
 */
const APP = 'dist/app';

helpIfAsked(`bundle\n\nWrites ${APP}; run it from the project folder, after the compiler.`);

interface Crawler {
  readonly pattern: string;
  readonly tags?: readonly string[];
}

/** Keeps only the two used fields of each crawler. Measured: reduces 525 KB to 60 KB. */
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
  // Uses flat names: `programUrl` expects each program in the same folder as the file that starts it.
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
  // Native modules, and packages that load their own files relative to their location.
  external: ['lmdb', 'msgpackr', 'piscina'],
  // Provides `require` for CommonJS packages in the bundle, which load Node's built-in modules with it.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);",
  },
  define: { BUNDLED: 'true' },
  plugins: [onlyUsedFields],
  // Does not minify, so that stack traces in the log are readable. The source maps refer to the original lines.
  sourcemap: 'linked',
  sourcesContent: false,
  metafile: true,
  logLevel: 'warning',
});

// `GET /openapi.json` is this copy, which is a third of the size.
const OPEN_API = 'openapi.json';
const openApi = Buffer.from(JSON.stringify(JSON.parse(await readFile(`docs/${OPEN_API}`, 'utf8'))));
/** Compressed here, because the best compression takes 0.2 s. */
const WEB_FILES: Readonly<Record<string, Buffer>> = {
  [OPEN_API]: openApi,
  [`${OPEN_API}.br`]: brotliCompressSync(openApi),
  [`${OPEN_API}.gz`]: gzipSync(openApi, { level: constants.Z_BEST_COMPRESSION }),
};
for (const [name, bytes] of Object.entries(WEB_FILES)) await writeFile(join(APP, name), bytes);

// Deletes files of earlier builds only after writing the new ones: a server may be running from this folder.
const built = new Set([...Object.keys(metafile.outputs).map((path) => basename(path)), ...Object.keys(WEB_FILES)]);
for (const name of await readdir(APP)) if (!built.has(name)) await rm(join(APP, name));
