import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { helpIfAsked } from './usage.ts';

/**
 * Builds what the packages `@gatehouse/client` and `@gatehouse/collector` consist of, into `src/client/dist` and `src/web/collector/dist`.
 * Part of the build, after the bundles for browsers; runs in the project folder.
 */
const CLIENT = 'src/client';
const COLLECTOR = 'src/web/collector';

helpIfAsked(
  `bundle-client\n\nWrites ${CLIENT}/dist and ${COLLECTOR}/dist; run it from the project folder, after bundle-web.`,
);

/** Declarations of ES modules: `x.d.mts`, which import `./y.mjs`. */
function writeTypes(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', CLIENT, '--noCheck', '--outDir', folder]);
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.d.ts')) continue;
    const path = join(folder, name);
    const text = readFileSync(path, 'utf8').replaceAll(/(['"])(\.{1,2}\/[^'"]+)\.ts\1/g, '$1$2.mjs$1');
    writeFileSync(path, text);
    renameSync(path, path.replace(/\.ts$/, '.mts'));
  }
}

await build({
  entryPoints: readdirSync(join(CLIENT, 'entries')).map((name) => join(CLIENT, 'entries', name)),
  outdir: join(CLIENT, 'dist'),
  outExtension: { '.js': '.mjs' },
  bundle: true,
  format: 'esm',
  target: 'es2022',
  external: ['node:*'],
  // Only the text: names stay readable in stack traces and debuggers.
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
});
writeTypes(join(CLIENT, 'dist/types'));

const COLLECTOR_FILES = ['collector.mjs', 'collector.d.mts'];
mkdirSync(join(COLLECTOR, 'dist'), { recursive: true });
for (const name of COLLECTOR_FILES) copyFileSync(join('dist/web/collector', name), join(COLLECTOR, 'dist', name));
for (const folder of [CLIENT, COLLECTOR]) copyFileSync('LICENSE', join(folder, 'dist/LICENSE'));
