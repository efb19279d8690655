import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { PROGRAMS } from '../../src/base/programs.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * A place is a folder of `src`, a file directly in `src`, or one of the folders beside it. Which place may import which; its own
 * files always. The arrows run one way: what stands lower may be imported by what stands higher, never the other way round.
 */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  'limits.ts': [],
  client: [],
  'settings.ts': ['egress', 'limits.ts'],
  egress: ['base', 'core', 'limits.ts'],
  core: ['base', 'limits.ts'],
  store: ['base', 'core', 'limits.ts'],
  pools: ['base', 'core', 'limits.ts', 'velocity'],
  observe: ['base', 'core', 'limits.ts', 'pools'],
  velocity: ['base', 'core', 'limits.ts'],
  score: ['base', 'core', 'limits.ts', 'pools', 'store', 'velocity'],
  decide: ['base', 'core', 'limits.ts', 'pools'],
  http: ['base', 'limits.ts'],
  manage: ['base', 'core', 'decide', 'limits.ts', 'observe', 'pools', 'store'],
  deliver: ['base', 'core', 'egress', 'limits.ts', 'observe', 'pools', 'store'],
  extract: ['base', 'core', 'egress', 'limits.ts', 'manage', 'observe', 'pools', 'store'],
  'first-start.ts': ['base', 'store'],
  'reload.ts': ['base', 'decide', 'limits.ts', 'observe', 'settings.ts', 'velocity'],
  'readings.ts': ['observe', 'store', 'velocity'],
  'ledger.ts': ['base', 'core', 'decide', 'pools', 'store'],
  'upkeep.ts': ['base', 'decide', 'ledger.ts', 'limits.ts', 'observe', 'store', 'velocity'],
  'target-check.ts': ['egress'],
  'start-fault.ts': [],
  'stop-on-signals.ts': ['observe'],
  'machine-check.ts': ['http', 'pools', 'store'],
  'door.ts': ['base', 'egress', 'http', 'settings.ts'],
  'layer-states.ts': ['observe', 'pools', 'store'],
  'installation.ts': ['observe', 'pools', 'settings.ts', 'start-fault.ts', 'store'],
  'service.ts': [
    'base',
    'core',
    'decide',
    'deliver',
    'door.ts',
    'extractions.ts',
    'http',
    'installation.ts',
    'layer-states.ts',
    'ledger.ts',
    'manage',
    'observe',
    'pools',
    'readings.ts',
    'settings.ts',
    'store',
    'velocity',
    'webhooks.ts',
  ],
  'main.ts': [
    'base',
    'decide',
    'deliver',
    'door.ts',
    'extractions.ts',
    'first-start.ts',
    'installation.ts',
    'ledger.ts',
    'machine-check.ts',
    'manage',
    'observe',
    'pools',
    'reload.ts',
    'service.ts',
    'settings.ts',
    'start-fault.ts',
    'stop-on-signals.ts',
    'store',
    'upkeep.ts',
    'velocity',
    'webhooks.ts',
  ],
  'extractions.ts': [
    'base',
    'egress',
    'extract',
    'limits.ts',
    'manage',
    'observe',
    'pools',
    'settings.ts',
    'store',
    'target-check.ts',
    'upkeep.ts',
  ],
  'webhooks.ts': ['deliver', 'manage', 'observe', 'pools', 'store', 'target-check.ts', 'upkeep.ts'],
  cli: ['base', 'client', 'core', 'egress', 'extract', 'limits.ts', 'settings.ts', 'store'],
  workers: [
    'base',
    'deliver',
    'egress',
    'extract',
    'limits.ts',
    'manage',
    'pools',
    'score',
    'store',
    'target-check.ts',
    'velocity',
  ],
  scripts: ['base', 'client', 'core'],
  bench: [
    'base',
    'client',
    'core',
    'decide',
    'deliver',
    'egress',
    'extract',
    'http',
    'limits.ts',
    'observe',
    'pools',
    'score',
    'scripts',
    'store',
    'velocity',
  ],
};

/** Single files that may reach further than their place. */
const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  'src/cli/commands/serve.ts': ['main.ts'],
  'src/cli/commands/models.ts': ['pools'],
  'src/cli/commands/policy.ts': ['pools'],
};

/**
 * Folders of a place that know less than it does: beside their own files they import these alone. Connectors and readers are given
 * what they read, so that none of them reaches the network, the store or a clock.
 */
const WITHIN: Readonly<Record<string, readonly string[]>> = {
  'src/extract/connectors/': ['src/base/', 'src/core/', 'src/extract/connector.ts', 'src/extract/read/'],
  'src/extract/fetch/': ['src/base/', 'src/core/', 'src/egress/', 'src/extract/connector.ts', 'src/extract/read/'],
  'src/extract/read/': ['src/base/', 'src/extract/connector.ts'],
  'src/extract/shape/': ['src/base/', 'src/core/', 'src/extract/connector.ts', 'src/manage/validate.ts'],
};

/** Hot places never import cold ones, whatever the table above says. */
const HOT = new Set(['decide', 'score', 'velocity', 'pools', 'http', 'core', 'base']);
const COLD = new Set(['manage', 'cli', 'web', 'extract', 'deliver', 'main.ts', 'first-start.ts', 'settings.ts']);

/** npm package → the files and folders that may import it. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  '@cfworker/json-schema': ['src/extract/request/input.ts', 'src/extract/shape/'],
  '@mozilla/readability': ['src/extract/read/article.ts'],
  aws4: ['src/extract/deliver/'],
  'baseline-browser-mapping': ['scripts/'],
  'cli-progress': ['src/cli/', 'scripts/', 'bench/detect.ts', 'bench/open-loop.ts'],
  'cli-table3': ['src/cli/', 'scripts/', 'bench/check/', 'bench/detect/print.ts', 'bench/open-loop/'],
  commander: ['src/cli/', 'bench/check/', 'bench/detect/options.ts', 'bench/open-loop/', 'bench/read-or-exit.ts'],
  echarts: ['bench/detect/picture.ts', 'bench/open-loop/picture.ts'],
  'crawler-user-agents': ['src/core/agent.ts'],
  'csv-stringify': ['src/extract/shape/'],
  'disposable-email-domains-js': ['src/core/email.ts'],
  domhandler: ['src/extract/read/'],
  domutils: ['src/extract/read/'],
  esbuild: ['scripts/bundle.ts'],
  feedsmith: ['src/extract/read/feed-parse.ts'],
  htmlparser2: ['bench/check/extraction-reference.ts', 'src/extract/read/html.ts', 'src/extract/read/sitemap.ts'],
  'ipaddr.js': ['src/egress/'],
  isbot: ['src/core/agent.ts'],
  linkedom: ['src/extract/read/article.ts'],
  lmdb: ['src/store/'],
  maxmind: ['src/pools/mmdb.ts'],
  msgpackr: ['src/base/pack.ts'],
  'onnx-proto': ['scripts/'],
  'onnxruntime-node': ['src/score/model-session.ts'],
  pino: ['src/observe/'],
  piscina: [
    'src/pools/body-pool.ts',
    'src/pools/deliver-pool.ts',
    'src/pools/extract-pool.ts',
    'src/pools/score-pool.ts',
  ],
  'prom-client': ['src/observe/', 'bench/micro/metrics.ts'],
  re2js: ['src/extract/shape/'],
  'robots-parser': ['src/extract/fetch/'],
  saxes: ['src/extract/deliver/'],
  tinybench: ['bench/micro/'],
  tldts: ['src/core/registrable-domain.ts'],
  'tough-cookie': ['src/extract/fetch/'],
  'uWebSockets.js': ['src/http/'],
  undici: ['src/client/', 'src/egress/', 'bench/check/extraction-reference.ts', 'bench/webhooks/bare-sender.ts'],
  zod: [
    'src/core/policy-check.ts',
    'src/core/policy-schema.ts',
    'src/extract/request.ts',
    'src/extract/request/',
    'src/extract/shape/',
    'src/manage/',
    'src/settings.ts',
    'src/score/model-manifest.ts',
    'src/store/marker.ts',
  ],
};

/** Packages that are loaded by a name put together, so that the name itself must not stand in other files. */
const LOADED_BY_NAME = ['uWebSockets.js', 'onnxruntime-node'];

/** What `src/core` may take from the platform: pure functions only. `hash` is one; the rest of node:crypto is not. */
const CORE_BUILTINS: Readonly<Record<string, RegExp>> = {
  'node:buffer': /./,
  'node:crypto': /^import \{ hash \} from 'node:crypto';$/m,
};

/** Clock and randomness, which are arguments in `src/core`. */
const IMPURE =
  /\bDate\.now\b|\bMath\.random\b|\bperformance\.now\b|\bnew Date\(\s*\)|\bprocess\.hrtime\b|\brandom(?:Bytes|UUID|Fill|FillSync|Int)\(/;

interface SourceFile {
  /** From the root of the project, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

const SPECIFIER =
  /(?:\bfrom\s*|\bimport\s*|\bimport\s*\(\s*|\brequire\s*\(\s*|createRequire\([^)]*\)\s*\(\s*|\bloadCommonJs\(\s*)(['"])([^'"\n]+)\1/g;

function specifiersOf(text: string): string[] {
  return [...withoutComments(text).matchAll(SPECIFIER)].map((match) => match[2] ?? '');
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '');
}

function placeOf(path: string): string {
  const [first = '', second = ''] = path.split('/');
  return first === 'src' ? second : first;
}

function packageOf(specifier: string): string {
  const [scope = '', name = ''] = specifier.split('/');
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
}

function isWithin(path: string, places: readonly string[]): boolean {
  return places.some((place) => (place.endsWith('/') ? path.startsWith(place) : path === place));
}

/** One line for each import, name or use that the tables above do not allow. */
function violations(files: readonly SourceFile[]): string[] {
  const found: string[] = [];
  for (const { path, text } of files) {
    const place = placeOf(path);
    const allowed = ARROWS[place];
    if (allowed === undefined) found.push(`${path}: the place ${place} is not in the table`);
    for (const specifier of specifiersOf(text)) {
      if (specifier.startsWith('.')) {
        const target = relative('/', resolve('/', dirname(path), specifier));
        const to = placeOf(target);
        for (const [folder, places] of Object.entries(WITHIN))
          if (path.startsWith(folder) && !isWithin(target, [folder, ...places]))
            found.push(`${path}: ${folder} may not import ${target}`);
        if (to === place) continue;
        const excepted = EXCEPTIONS[path]?.includes(to) ?? false;
        if (!excepted && !allowed?.includes(to)) found.push(`${path}: ${place} may not import ${to} (${target})`);
        if (HOT.has(place) && COLD.has(to)) found.push(`${path}: hot ${place} may not import cold ${to}`);
      } else if (specifier.startsWith('node:')) {
        const uses = CORE_BUILTINS[specifier];
        if (place === 'core' && !uses?.test(text)) found.push(`${path}: core may not import ${specifier}`);
      } else {
        const name = packageOf(specifier);
        if (!isWithin(path, PACKAGES[name] ?? [])) found.push(`${path}: the package ${name} may not be imported here`);
      }
    }
    const code = withoutComments(text);
    for (const name of LOADED_BY_NAME) {
      const named = new RegExp(`['"\`]${name.replace('.', '\\.')}[^ '"\`]*['"\`]`).test(code);
      if (named && !isWithin(path, PACKAGES[name] ?? []))
        found.push(`${path}: the package ${name} may not be named here`);
    }
    const impure = place === 'core' ? IMPURE.exec(code) : null;
    if (impure !== null) found.push(`${path}: core may not use ${impure[0]}`);
  }
  return [...new Set(found)];
}

function sourceFiles(): SourceFile[] {
  return ['src', 'workers', 'scripts', 'bench'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name).replaceAll('\\', '/'))
      .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
  );
}

describe('the arrows between the places of the source', () => {
  const files = sourceFiles();

  test('are those of the tables', () => {
    expect(files.length).toBeGreaterThan(80);
    expect(violations(files)).toEqual([]);
  });

  test('every relative import names a file that is there, with its ending', () => {
    const missing = files.flatMap(({ path, text }) =>
      specifiersOf(text)
        .filter((specifier) => specifier.startsWith('.') && !existsSync(join(ROOT, dirname(path), specifier)))
        .map((specifier) => `${path}: ${specifier}`),
    );
    expect(missing).toEqual([]);
  });

  test('threads and child processes are found by the table of programs alone, which the bundle is made from', () => {
    // A path of one's own would be right in `dist/src` and wrong in the bundle.
    const OWN_PATHS = /new URL\([^)]*import\.meta\.url/;
    const finders = files.filter(({ path, text }) => path.startsWith('src/') && OWN_PATHS.test(text));
    expect(finders.map(({ path }) => path)).toEqual(['src/base/programs.ts']);
    const workers = files.map(({ path }) => path).filter((path) => path.startsWith('workers/'));
    const programs = Object.values(PROGRAMS).map((path) => `${path}.ts`);
    expect(programs).toEqual(expect.arrayContaining(workers));
    for (const path of programs) expect(files.map((file) => file.path)).toContain(path);
  });

  test('zod is imported as a namespace, so that the bundle leaves out what nothing uses of it', () => {
    const others = files.filter(({ text }) => /^import (?!(?:type )?\* as z )[^;]*from 'zod'/m.test(text));
    expect(others.map(({ path }) => path)).toEqual([]);
  });

  test('run one way: no place can be reached from itself', () => {
    const reaches = (from: string, seen: Set<string>): Set<string> => {
      for (const to of ARROWS[from] ?? []) {
        if (seen.has(to)) continue;
        seen.add(to);
        reaches(to, seen);
      }
      return seen;
    };
    for (const place of Object.keys(ARROWS))
      expect([place, reaches(place, new Set()).has(place)]).toEqual([place, false]);
  });

  test('name only places that exist', () => {
    const places = new Set(files.map(({ path }) => placeOf(path)));
    expect(Object.keys(ARROWS).filter((place) => !places.has(place))).toEqual([]);
    for (const path of Object.keys(EXCEPTIONS)) expect(files.map((file) => file.path)).toContain(path);
  });
});

describe('the check of the arrows finds', () => {
  const WRONG: readonly (readonly [name: string, path: string, text: string])[] = [
    ['a lower place that imports a higher one', 'src/base/x.ts', "import { a } from '../core/ip.ts';"],
    ['a hot place that imports a cold one', 'src/decide/x.ts', "import { a } from '../manage/health.ts';"],
    ['the same as a type', 'src/score/x.ts', "import type { A } from '../cli/context.ts';"],
    ['the same as an export', 'src/pools/x.ts', "export { a } from '../manage/health.ts';"],
    ['the same as a late import', 'src/http/x.ts', "const a = await import('../cli/main.ts');"],
    ['the same over several lines', 'src/http/x.ts', "import {\n  a,\n  b,\n} from '../manage/health.ts';"],
    ['the same for its effects only', 'src/http/x.ts', "import '../manage/health.ts';"],
    ['the main file imported by another command', 'src/cli/commands/keys.ts', "import { serve } from '../../main.ts';"],
    ['the main file imported by a worker', 'workers/x.ts', "import { serve } from '../src/main.ts';"],
    ['the store in the decide path', 'src/decide/x.ts', "import { openStore } from '../store/open-store.ts';"],
    ['the network in a connector', 'src/extract/connectors/x.ts', "import { a } from '../fetch/source.ts';"],
    ['the store in a reader', 'src/extract/read/x.ts', "import { openStore } from '../../store/open-store.ts';"],
    ['a place that is not in the table', 'src/elsewhere/x.ts', ''],
    ['a file beside the places', 'src/x.ts', ''],
    ['the transport elsewhere', 'src/decide/x.ts', "import uws from 'uWebSockets.js';"],
    ['the transport by its name', 'src/decide/x.ts', "const a = require('uWebSockets.js-linux-x64-20');"],
    ['the store’s package elsewhere', 'src/score/x.ts', "import { open } from 'lmdb';"],
    ['the model runtime elsewhere', 'src/pools/x.ts', "createRequire(import.meta.url)('onnxruntime-node');"],
    ['a package that is not in the table', 'src/base/x.ts', "import _ from 'lodash';"],
    ['a scoped package', 'src/base/x.ts', "import _ from '@scope/name/part';"],
    ['files in core', 'src/core/x.ts', "import { readFileSync } from 'node:fs';"],
    ['random bytes in core', 'src/core/x.ts', "import { hash, randomBytes } from 'node:crypto';"],
    ['the clock in core', 'src/core/x.ts', 'const now = Date.now();'],
    ['the date in core', 'src/core/x.ts', 'const now = new Date();'],
    ['durations in core', 'src/core/x.ts', 'const now = performance.now();'],
    ['randomness in core', 'src/core/rules/x.ts', 'const dice = Math.random();'],
  ];

  test.each(WRONG)('%s', (_name, path, text) => {
    expect(violations([{ path, text }])).not.toEqual([]);
  });

  test('nothing in what is right, nor in comments and other words', () => {
    const right: readonly SourceFile[] = [
      {
        path: 'src/core/x.ts',
        text: "// never Date.now()\n/* nor Math.random() from '../cli/main.ts' */\nimport { isIP } from '../base/x.ts';",
      },
      { path: 'src/core/rules/x.ts', text: "import { hit } from '../rule.ts';\nconst day = new Date(0);" },
      { path: 'src/http/x.ts', text: "import uws from 'uWebSockets.js';\nimport { createServer } from 'node:http';" },
      { path: 'src/cli/commands/serve.ts', text: "const { serve } = await import('../../main.ts');" },
    ];
    expect(violations(right)).toEqual([]);
  });
});

interface Locked {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
}

/** Texts that rustc leaves in every binary: its sources' paths and its panic messages. */
const RUST_MARKS = ['/rustc/', 'rustc version', 'panicked at'];

function rustMark(bytes: Buffer): string | null {
  return RUST_MARKS.find((mark) => bytes.includes(mark)) ?? null;
}

/** Native modules of the locked packages that are installed, those of packages inside them left to their own entries. */
function nativeModules(isWanted: (dev: boolean) => boolean): string[] {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Locked;
  return Object.entries(lock.packages)
    .filter(
      ([path, { dev }]) => path.startsWith('node_modules/') && isWanted(dev ?? false) && existsSync(join(ROOT, path)),
    )
    .flatMap(([path]) =>
      readdirSync(join(ROOT, path), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.node') && !name.includes('node_modules'))
        .map((name) => join(path, name)),
    );
}

describe('native modules', () => {
  test('of production are none that were built from Rust', () => {
    const modules = nativeModules((dev) => !dev);
    expect(modules.length).toBeGreaterThan(0);
    expect(modules.filter((path) => rustMark(readFileSync(join(ROOT, path))) !== null)).toEqual([]);
  });

  test('that were built from Rust are told by their marks, as those of the development tools show', () => {
    expect(rustMark(Buffer.from('\0\0/rustc/90b35a6239c3d8bdabc530a6a0816f7ff89a0aaf/library/core\0'))).toBe('/rustc/');
    expect(rustMark(Buffer.from('trust, crusty and C++'))).toBeNull();
    const oxc = nativeModules((dev) => dev).filter((path) => /ox(?:lint|fmt|c-)/.test(path));
    for (const path of oxc) expect([path, rustMark(readFileSync(join(ROOT, path)))]).not.toEqual([path, null]);
  });
});
