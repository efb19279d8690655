import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, type Plugin } from 'esbuild';
import { disposableEmailBlocklistSet } from 'disposable-email-domains-js';
import { writeSnapshot } from '../src/data/shipped-feeds.ts';
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

/** Packages of CommonJS that the sources load by `require`, and that every start or every thread needs. */
const LOADED_AT_START = /\bloadCommonJs\(('(?:tldts|ipaddr\.js|saxes|undici\/lib\/dispatcher\/client\.js)')\)/g;

/** Takes packages into the programs that a bundler cannot take in by itself. */
const packagesInside: Plugin = {
  name: 'packages-inside',
  setup(bundler) {
    bundler.onLoad({ filter: /src\/(?:egress|kernel|extract)\/.*\.ts$/ }, async ({ path }) => ({
      loader: 'ts',
      contents: (await readFile(path, 'utf8')).replace(LOADED_AT_START, 'require($1)'),
    }));
    const lmdb = createRequire(import.meta.url).resolve('lmdb');
    bundler.onResolve({ filter: /^lmdb$/ }, () => ({ path: lmdb }));
    bundler.onLoad({ filter: /lmdb\/dist\/index\.cjs$/ }, async ({ path }) => ({
      // It searches for its native module from its folder.
      contents: `const fileOfPackage = require('node:module').createRequire(urlOfFile).resolve('lmdb');
${(await readFile(path, 'utf8')).replaceAll('__filename', 'fileOfPackage')}`,
    }));
  },
};

const { metafile } = await build({
  entryPoints: {
    main: 'src/cli/main.ts',
    ...Object.fromEntries(Object.entries(PROGRAMS).map(([name, path]) => [name, `${path}.ts`])),
  },
  outdir: APP,
  bundle: true,
  // What several programs need stands once. Measured: 8.4 MB in all; with one file for each program it is 31 MB.
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // Does not minify, so that stack traces in the log are readable. The source maps refer to the original lines.
  sourcemap: 'linked',
  sourcesContent: false,
  logLevel: 'warning',
  // Provides `require` for CommonJS packages in the bundle, which load Node's built-in modules with it.
  banner: {
    js: `import { createRequire as requireOf } from 'node:module';
const urlOfFile = import.meta.url;
const require = requireOf(urlOfFile);`,
  },
  // Piscina starts a file of its folder; the other is an optional part of msgpackr, and native.
  external: ['piscina', 'msgpackr-extract'],
  define: { BUNDLED: 'true' },
  plugins: [onlyUsedFields, packagesInside],
  metafile: true,
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

// The shipped feeds, and the database of them that a server uses before its first update.
const SNAPSHOT = 'src/data/snapshot';
const FEEDS_FOLDER = 'feeds';
await mkdir(join(APP, FEEDS_FOLDER), { recursive: true });
await cp(SNAPSHOT, join(APP, FEEDS_FOLDER), { recursive: true });
// Source: disposable-email-domains-js 1.26.0 (CC0), published on that day.
const DISPOSABLE_HEAD =
  '# Domains for disposable mailboxes. Licence: CC0 1.0. Source: disposable-email-domains-js. date: 2026-09-21';
await writeFile(
  join(APP, FEEDS_FOLDER, 'disposable.txt'),
  [DISPOSABLE_HEAD, ...disposableEmailBlocklistSet()].join('\n'),
);
writeSnapshot(join(APP, FEEDS_FOLDER));

// Deletes files of earlier builds only after writing the new ones: a server may be running from this folder.
const built = new Set([
  FEEDS_FOLDER,
  ...Object.keys(metafile.outputs).map((path) => basename(path)),
  ...Object.keys(WEB_FILES),
]);
for (const name of await readdir(APP)) if (!built.has(name)) await rm(join(APP, name));
