import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, type BuildOptions, type Plugin } from 'esbuild';
import { deliverySchemas } from './delivery-schemas.ts';
import { helpIfAsked } from './usage.ts';

/**
 * Bundles what browsers run: the collector into `dist/web/collector`, the dashboard into `dist/web/dashboard`. Beside each file stand its
 * compressed forms, and each folder has a `manifest.json`, which the server reads. Part of the build; runs in the project folder.
 */
const COLLECTOR = 'dist/web/collector';
const DASHBOARD = 'dist/web/dashboard';

helpIfAsked(`bundle-web\n\nWrites ${COLLECTOR} and ${DASHBOARD}; run it from the project folder, after the compiler.`);

const COMMON = {
  bundle: true,
  minify: true,
  write: false,
  // Browsers of the last three years and older ones with BigInt literals, optional chaining and correct destructuring.
  target: ['es2020', 'safari14.1'],
  legalComments: 'none',
  tsconfig: 'src/web/tsconfig.json',
  logLevel: 'warning',
} as const satisfies BuildOptions;

interface WebFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json; charset=utf-8',
  svg: 'image/svg+xml',
  html: 'text/html; charset=utf-8',
};

function typeOf(name: string): string {
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
  if (type === undefined) throw new Error(`no content type for ${name}`);
  return type;
}

/** Writes the files with their compressed forms and the manifest, and deletes all others. A server may be running from this folder. */
async function writeFolder(folder: string, files: readonly WebFile[], manifest: unknown): Promise<void> {
  await mkdir(folder, { recursive: true });
  const written = new Set(['manifest.json']);
  for (const { name, bytes } of files) {
    const forms: Readonly<Record<string, Uint8Array>> = {
      [name]: bytes,
      [`${name}.br`]: brotliCompressSync(bytes),
      [`${name}.gz`]: gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }),
    };
    for (const [form, content] of Object.entries(forms)) {
      await writeFile(join(folder, form), content);
      written.add(form);
    }
  }
  await writeFile(join(folder, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const name of await readdir(folder)) if (!written.has(name)) await rm(join(folder, name), { recursive: true });
}

function integrityOf(bytes: Uint8Array): string {
  return `sha384-${createHash('sha384').update(bytes).digest('base64')}`;
}

/** Sources of FingerprintJS that the collector does not read (`device-makeup.ts` has the reasons). */
const UNREAD_SOURCES = [
  'fonts: getFonts',
  'domBlockers: getDomBlockers',
  'fontPreferences: getFontPreferences',
  'sessionStorage: getSessionStorage',
  'localStorage: getLocalStorage',
  'indexedDB: getIndexedDB',
  'openDatabase: getOpenDatabase',
];

/**
 * Removes sources from the object that holds all of them, so that the bundler drops their code. Fails if a version of the library lists
 * them differently. Measured: 19.0 → 13.0 KB gzipped.
 */
const withoutUnreadSources: Plugin = {
  name: 'without-unread-sources',
  setup(build) {
    build.onLoad({ filter: /fingerprintjs[\\/]dist[\\/]fp\.esm\.js$/ }, async ({ path }) => {
      let contents = await readFile(path, 'utf8');
      for (const line of UNREAD_SOURCES) {
        if (!contents.includes(`    ${line},\n`)) throw new Error(`${path} has no line "${line}"`);
        contents = contents.replace(`    ${line},\n`, '');
      }
      return { contents, loader: 'js' };
    });
  },
};

/** The library's licence asks for its notice in every copy. */
const NOTICE =
  '/*! Gatehouse collector, Apache-2.0. Contains FingerprintJS 5.2.0, Copyright (c) 2025 FingerprintJS, Inc, MIT License. */';

/** The same source in two forms: a classic script that sets `gatehouse`, and a module that exports it. */
async function bundleCollector(): Promise<void> {
  const { version } = JSON.parse(await readFile('src/web/collector/version.json', 'utf8')) as { version: string };
  const define = { COLLECTOR_VERSION: JSON.stringify(version) };
  const bundled = async (entry: string, format: 'iife' | 'esm'): Promise<Uint8Array> => {
    const { outputFiles } = await build({
      ...COMMON,
      entryPoints: [entry],
      format,
      define,
      plugins: [withoutUnreadSources],
      banner: { js: NOTICE },
    });
    const [file] = outputFiles;
    if (file === undefined) throw new Error(`${entry}: nothing was built`);
    return file.contents;
  };
  const classic = await bundled('src/web/collector/collector.ts', 'iife');
  const esm = await bundled('src/web/collector/browser.ts', 'esm');
  const files: readonly WebFile[] = [
    { name: 'collector.js', bytes: classic },
    { name: 'collector.mjs', bytes: esm },
    // For pages that bundle the module themselves: `import … from '@gatehouse/collector'`.
    { name: 'collector.d.mts', bytes: await readFile('src/web/collector/module-types.d.mts') },
  ];
  await writeFolder(COLLECTOR, files, {
    version,
    files: {
      classic: { file: 'collector.js', integrity: integrityOf(classic) },
      esm: { file: 'collector.mjs', integrity: integrityOf(esm) },
    },
  });
}

/**
 * Every module that is loaded later imports `shared-parts.ts` too, so that these parts are one file. Otherwise esbuild makes a file of each
 * set of modules that share code: 20 files of some 300 bytes for the first page.
 */
const LAZY_MODULES =
  /dashboard[\\/](?:pages[\\/].*(?:-page|-map|-graph)|command-palette|custom-range|help-dialog)\.tsx$/;
const SHARED_PARTS: Plugin = {
  name: 'shared-parts',
  setup: (bundler) => {
    bundler.onLoad({ filter: LAZY_MODULES }, async ({ path }) => ({
      contents: `${await readFile(path, 'utf8')}\nimport '${resolve('src/web/dashboard/shared-parts.ts')}';\n`,
      loader: 'tsx',
    }));
  },
};

/** The pages: one module with lazy parts and one style sheet, all with a hash of their content in their names, and `index.html`. */
async function bundleDashboard(): Promise<void> {
  const { outputFiles, metafile } = await build({
    ...COMMON,
    // Browsers that have light-dark(): people who run Gatehouse use the pages, not the visitors of shops.
    target: ['es2022', 'chrome123', 'firefox120', 'safari17.5'],
    publicPath: '/dashboard/assets',
    entryPoints: ['src/web/dashboard/main.tsx'],
    outdir: DASHBOARD,
    format: 'esm',
    splitting: true,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // Styles of single pages are files of their own: their import is their URL.
    loader: { '.svg': 'file', '.lazy.css': 'file' },
    metafile: true,
    plugins: [SHARED_PARTS],
    define: { DELIVERY_SCHEMAS: JSON.stringify(deliverySchemas()) },
  });
  const assets = outputFiles.map(({ path, contents }) => ({ name: basename(path), bytes: contents }));
  const entry = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint?.endsWith('main.tsx'));
  if (entry === undefined) throw new Error('the dashboard has no entry');
  const [script, { cssBundle }] = entry;
  const page = (await readFile('src/web/dashboard/index.html', 'utf8'))
    .replace('%SCRIPT%', basename(script))
    .replace('%STYLE%', basename(cssBundle ?? ''));
  await writeFolder(DASHBOARD, [...assets, { name: 'index.html', bytes: Buffer.from(page) }], {
    index: 'index.html',
    assets: assets.map(({ name }) => ({ file: name, type: typeOf(name) })),
  });
}

if (existsSync('src/web/collector/version.json')) await bundleCollector();
if (existsSync('src/web/dashboard/main.tsx')) await bundleDashboard();
