import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** The three packages as `npm pack` makes them from a built folder, and their use in an empty one. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NPM_ENV = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|GATEHOUSE_)/i.test(name)));
const CLIENT_GZIP_BYTES_MAX = 12_288;
/** Measured: 4.0 MB, of which the programs are 1.9 MB, the documentation 1.4 MB, the pages of the dashboard 0.6 MB. */
const SERVER_BYTES_MAX = 4_718_592;

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

let folder = '';
const packed: Record<string, Packed> = {};
const tarball = (name: string): string => join(folder, packed[name]?.filename ?? '');

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env: NPM_ENV, encoding: 'utf8' });
  expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' });
  return stdout;
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-packages-'));
  const output = run(
    'npm',
    ['pack', '--json', '--workspaces', '--include-workspace-root', '--pack-destination', folder],
    ROOT,
  );
  const list = JSON.parse(output) as Record<string, Packed> | readonly (Packed & { readonly name: string })[];
  const entries = Array.isArray(list)
    ? list.map((one: Packed & { readonly name: string }) => [one.name, one] as const)
    : Object.entries(list as Record<string, Packed>);
  for (const [name, one] of entries) packed[name] = one;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('Three packages are packed: no sources, no tests, and no source maps that hold sources', () => {
  expect(Object.keys(packed).sort()).toEqual(['@gatehouse/client', '@gatehouse/collector', 'gatehouse']);
  for (const [name, { files }] of Object.entries(packed)) {
    const paths = files.map(({ path }) => path);
    expect(paths.filter((path) => /^(?:src|test|bench|scripts)\/|(?<!\.d)\.[cm]?ts$/.test(path))).toEqual([]);
    expect([name, paths.filter((path) => path.endsWith('LICENSE')).length]).toEqual([name, 1]);
    expect(paths.filter((path) => path.endsWith('.map'))).toEqual([]);
  }
});

test('The packages have the sizes that they promise', () => {
  const bytes = gzipSync(readFileSync(join(ROOT, 'src/client/dist/index.mjs'))).length;
  expect(bytes).toBeLessThanOrEqual(CLIENT_GZIP_BYTES_MAX);
  expect(statSync(tarball('gatehouse')).size).toBeLessThanOrEqual(SERVER_BYTES_MAX);
});

describe('@gatehouse/client and @gatehouse/collector', () => {
  test.each([
    ['publint', 'publint/src/cli.js', ['run', '--strict']],
    // The packages are ES modules, which CommonJS can require since Node.js 20.19.
    ['@arethetypeswrong/cli', '@arethetypeswrong/cli/dist/index.js', ['--profile', 'esm-only']],
  ] as const)('%s finds nothing wrong', (_name, program, args) => {
    const check = (name: string): string =>
      run(process.execPath, [join(ROOT, 'node_modules', program), ...args, tarball(name)], folder);
    // `run` fails with what the program printed.
    for (const name of ['@gatehouse/client', '@gatehouse/collector']) expect(() => check(name)).not.toThrow();
  });

  test('Installed in an empty folder, every entry can be imported and required, and its types compile', () => {
    const app = join(folder, 'app');
    mkdirSync(app);
    writeFileSync(join(app, 'package.json'), '{"private":true,"type":"module"}');
    const install = [
      'install',
      '--offline',
      '--no-audit',
      '--no-fund',
      tarball('@gatehouse/client'),
      tarball('@gatehouse/collector'),
    ];
    run('npm', install, app);
    const entries = ['', '/webhooks', '/express', '/fastify', '/hono', '/koa', '/next'].map(
      (path) => `@gatehouse/client${path}`,
    );
    const names = (load: string): string =>
      run(
        process.execPath,
        [
          '--no-warnings',
          '--input-type=module',
          '--eval',
          `
        import { createRequire } from 'node:module';
        const require = createRequire(process.cwd() + '/x.js');
        for (const name of ${JSON.stringify(entries)}) console.log(Object.keys(${load}).join(' '));`,
        ],
        app,
      );
    const imported = names('await import(name)');
    expect(imported.split('\n').slice(0, 3)).toEqual([
      'Challenges Gatehouse GatehouseError GatehouseSettingError GatehouseUnavailable verifyWebhook visitorOf',
      'verifyWebhook',
      'outcomeOfStatus protect',
    ]);
    if ('require_module' in process.features) expect(names('require(name)')).toBe(imported);

    writeFileSync(join(app, 'use.ts'), TYPED);
    cpSync(join(ROOT, 'node_modules/@types'), join(app, 'node_modules/@types'), { recursive: true });
    const options = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      'false',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--lib',
      'es2023,dom,dom.iterable',
      '--types',
      '',
    ];
    run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...options, 'use.ts'], app);
  });
});

const TYPED = `
import { Gatehouse, type DecideResult } from '@gatehouse/client';
import { protect } from '@gatehouse/client/express';
import { verifyWebhook } from '@gatehouse/client/webhooks';
import { start, token } from '@gatehouse/collector';

const gatehouse = new Gatehouse({ url: 'http://127.0.0.1:8080', key: 'sk_live_x', onUnavailable: 'challenge' });
const result: DecideResult = await gatehouse.decide({ event_type: 'login', entity_keys: { email: 'anna@example.com' } });
if (result.failedOpen) console.log(result.failure satisfies string);
else console.log(result.score satisfies number, result.request_id satisfies string);
for await (const record of gatehouse.extractions.records('ext_1')) console.log(record._meta.source_url satisfies string);
protect(gatehouse, 'login', { identify: (req) => ({ email: req.body?.['email'] }) });
console.log(verifyWebhook({ headers: {}, body: '', secrets: 'whsec_' }).kind, start(), await token());
// @ts-expect-error: not an outcome
await gatehouse.outcome(result, 'won');
// @ts-expect-error: not a field
await gatehouse.lists.put({ kind: 'ip', value: '192.0.2.1', action: 'deny' });
`;

describe('gatehouse', () => {
  test('The tarball holds what its package.json names', () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly bin: Readonly<Record<string, string>>;
      readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
    };
    const paths = new Set(packed['gatehouse']?.files.map(({ path }) => path));
    const named = [manifest.bin, ...Object.values(manifest.exports)].flatMap((one) =>
      typeof one === 'string' ? [one] : Object.values(one),
    );
    for (const path of named) expect(paths).toContain(path.replace('./', ''));
    // What `/docs` reads.
    expect(paths).toContain('dist/docs/manifest.json');
  });

  test('Unpacked beside its installed dependencies, the command line answers', () => {
    const place = join(folder, 'server');
    mkdirSync(place);
    run('tar', ['-xzf', tarball('gatehouse'), '-C', place], folder);
    expect(existsSync(join(place, 'package/src'))).toBe(false);
    run('ln', ['-s', join(ROOT, 'node_modules'), join(place, 'node_modules')], folder);
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };
    expect(run(process.execPath, [join(place, 'package/dist/app/main.js'), '--version'], place)).toContain(version);
  });
});
