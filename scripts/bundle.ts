import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, type BuildOptions, type Plugin } from 'esbuild';
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

/** The file of a program, as seen by the other files of the folder. */
function fileOf(name: string): string {
  return `./${name}.cjs`;
}

/** The server is a separate program: no other command reads it. */
const serverApart: Plugin = {
  name: 'server-apart',
  setup(bundler) {
    bundler.onLoad({ filter: /src\/app\/serve\.ts$/ }, () => ({
      contents: `import { createRequire } from 'node:module';
export const { serve } = createRequire(import.meta.url)(${JSON.stringify(fileOf('serve'))});`,
    }));
  },
};

/** The client of the cluster's store is 1.2 MB, which a server that works alone must not read. */
const REDIS = 'redis-package';
const redisApart: Plugin = {
  name: 'redis-apart',
  setup(bundler) {
    bundler.onResolve({ filter: /\/redis-package\.ts$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { path: fileOf(REDIS), external: true } : null,
    );
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
      contents: `const fileOfPackage = require('node:module').createRequire(__filename).resolve('lmdb');
${(await readFile(path, 'utf8')).replaceAll('__filename', 'fileOfPackage')}`,
    }));
  },
};

const BOTH: BuildOptions = {
  outdir: APP,
  bundle: true,
  platform: 'node',
  target: 'node20',
  // Does not minify, so that stack traces in the log are readable. The source maps refer to the original lines.
  sourcemap: 'linked',
  sourcesContent: false,
  logLevel: 'warning',
};

/** The command line: ES modules, so that each command loads only what it needs. */
const commands = await build({
  ...BOTH,
  entryPoints: { main: 'src/cli/main.ts' },
  splitting: true,
  format: 'esm',
  // Provides `require` for CommonJS packages in the bundle, which load Node's built-in modules with it.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);",
  },
  // Native modules, and packages that load their own files relative to their location.
  external: ['lmdb', 'msgpackr', 'piscina'],
  define: { BUNDLED: 'true' },
  plugins: [onlyUsedFields, serverApart],
  metafile: true,
});

/** The server, its threads and its child processes: one CommonJS file each. */
const SOURCES: Readonly<Record<string, string>> = {
  serve: 'src/app/serve',
  [REDIS]: 'src/cluster/store/redis-package',
  ...PROGRAMS,
};
const bodies = await build({
  ...BOTH,
  entryPoints: Object.fromEntries(Object.entries(SOURCES).map(([name, path]) => [name, `${path}.ts`])),
  outExtension: { '.js': '.cjs' },
  format: 'cjs',
  banner: { js: "const urlOfFile = require('node:url').pathToFileURL(__filename).href;" },
  // Piscina starts a file of its folder; the other is an optional part of msgpackr, and native.
  external: ['piscina', 'msgpackr-extract'],
  define: { BUNDLED: 'true', 'import.meta.url': 'urlOfFile' },
  // Without them, `import()` is a `require` in a promise.
  supported: { 'dynamic-import': false },
  plugins: [onlyUsedFields, redisApart, packagesInside],
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

// Deletes files of earlier builds only after writing the new ones: a server may be running from this folder.
const outputs = [commands, bodies].flatMap(({ metafile }) => Object.keys(metafile.outputs));
const built = new Set([...outputs.map((path) => basename(path)), ...Object.keys(WEB_FILES)]);
for (const name of await readdir(APP)) if (!built.has(name)) await rm(join(APP, name));
