import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { floorsOf, OUTSIDE, ROOMS, withRooms } from '../../scripts/rooms.ts';
import { PROGRAMS } from '../../src/kernel/programs.ts';
import { shapeOf } from '../support/source-shape.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Rooms are folders of `src`; the folders beside it have their own entries. A room may always import its own files. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(Object.entries(ROOMS).map(([name, { mayImport }]) => [name, mayImport])),
  ...OUTSIDE,
};

/** Files that only these files may import, from outside their room. */
const ONLY_FOR: Readonly<Record<string, readonly string[]>> = {
  'src/app/serve.ts': ['src/cli/commands/serve-command.ts'],
};

/**
 * Folders inside a room that may import less than their room: beside their own files only these. Connectors and readers receive what they
 * read as arguments, so that they never reach the network, the store or a clock.
 */
const WITHIN: Readonly<Record<string, readonly string[]>> = {
  'src/risk/': ['src/kernel/', 'src/contract/vocabulary.ts', 'src/contract/problem.ts', 'src/contract/json-body.ts'],
  'src/http/': ['src/kernel/', 'src/contract/problem.ts', 'src/contract/routes.ts'],
  'src/contract/requests/': ['src/kernel/', 'src/contract/wire-ids.ts', 'src/contract/vocabulary.ts'],
  'src/extract/connectors/': [
    'src/kernel/',
    'src/work/',
    'src/extract/base/connector.ts',
    'src/extract/read/',
    'src/extract/select/',
  ],
  'src/extract/fetch/': [
    'src/kernel/',
    'src/work/',
    'src/egress/',
    'src/extract/base/connector.ts',
    'src/extract/base/source-session.ts',
    'src/extract/read/',
  ],
  'src/extract/read/': ['src/kernel/', 'src/extract/base/connector.ts'],
  'src/extract/select/': [
    'src/kernel/',
    'src/extract/base/connector.ts',
    'src/extract/read/',
    'src/extract/shape/patterns.ts',
  ],
  'src/extract/shape/': [
    'src/kernel/',
    'src/contract/csv-guard.ts',
    'src/contract/requests/',
    'src/contract/problem.ts',
    'src/contract/validate.ts',
    'src/contract/vocabulary.ts',
    'src/work/',
    'src/extract/base/connector.ts',
  ],
};

/**
 * Folders of a room, its inner rooms → other inner rooms of it that each may import. A room in this table has no files beside them. Like
 * rooms, they have no cycle, and every arrow is used.
 */
const INNER_ROOMS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  state: { tables: [], feed: ['tables'], repair: ['tables', 'feed'] },
  cluster: {
    store: [],
    nodes: ['store'],
    log: ['store'],
    feed: ['store', 'nodes', 'log'],
    admission: ['store'],
    velocity: ['store'],
    deliveries: ['store'],
    reads: ['nodes', 'deliveries'],
    jobs: ['store', 'log'],
  },
  extract: {
    base: [],
    read: ['base'],
    shape: ['base'],
    select: ['base', 'read', 'shape'],
    connectors: ['base', 'read', 'select'],
    fetch: ['base', 'read'],
    sinks: ['base', 'shape', 'fetch'],
    request: ['base', 'read', 'shape', 'sinks'],
    worker: ['base', 'fetch', 'shape'],
    engine: ['base', 'fetch', 'request', 'shape', 'sinks'],
    door: ['base', 'engine', 'shape', 'sinks'],
    watch: ['base', 'request'],
  },
};

/** Hot rooms never import cold ones, whatever the table allows. */
const ON_PATH = (path: 'hot' | 'cold'): ReadonlySet<string> =>
  new Set(Object.entries(ROOMS).flatMap(([name, room]) => (room.path === path ? [name] : [])));
const HOT = ON_PATH('hot');
const COLD = ON_PATH('cold');

/** npm package → the files and folders that may import it. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  '@cfworker/json-schema': ['src/extract/request/job-input.ts', 'src/extract/shape/'],
  '@fingerprintjs/fingerprintjs': ['src/web/collector/'],
  '@marcbachmann/cel-js': ['src/risk/conditions/parse-condition.ts'],
  '@preact/signals': ['src/web/dashboard/'],
  '@redis/client': ['src/cluster/store/redis-package.ts', 'src/cluster/store/reply-bound.ts'],
  aws4: ['src/extract/sinks/'],
  'baseline-browser-mapping': ['scripts/'],
  'cli-progress': ['src/cli/', 'scripts/', 'bench/detect.ts', 'bench/open-loop.ts'],
  'cli-table3': ['src/cli/', 'scripts/', 'bench/check/', 'bench/cluster/', 'bench/detect/print.ts', 'bench/open-loop/'],
  commander: [
    'src/cli/',
    'bench/check/',
    'bench/cluster/',
    'bench/detect/options.ts',
    'bench/learning/options.ts',
    'bench/open-loop/',
    'bench/read-or-exit.ts',
  ],
  'd3-force': ['src/web/dashboard/'],
  'd3-geo': ['src/web/dashboard/'],
  echarts: ['bench/detect/picture.ts', 'bench/open-loop/picture.ts'],
  'crawler-user-agents': ['src/risk/signals/agent.ts'],
  'csv-parse': ['src/replay/'],
  'csv-stringify': ['src/extract/shape/', 'src/cli/export-writers.ts'],
  hyparquet: ['src/replay/'],
  'hyparquet-writer': ['src/cli/export-writers.ts', 'src/extract/shape/parquet-writer.ts'],
  'disposable-email-domains-js': ['src/risk/signals/email.ts', 'scripts/bundle.ts'],
  'css-select': ['src/extract/select/'],
  domhandler: ['src/extract/read/', 'src/extract/select/'],
  domutils: ['src/extract/read/'],
  esbuild: ['scripts/bundle.ts', 'scripts/bundle-web.ts', 'scripts/bundle-client.ts'],
  feedsmith: ['src/extract/read/feed-parse.ts'],
  htmlparser2: ['src/extract/read/html.ts', 'src/extract/read/sitemap.ts'],
  'ipaddr.js': ['src/egress/'],
  isbot: ['src/risk/signals/agent.ts'],
  lmdb: ['src/state/', 'src/history/'],
  maxmind: ['src/assets/mmdb.ts'],
  msgpackr: ['src/kernel/pack.ts'],
  'onnx-proto': ['scripts/'],
  'onnxruntime-node': ['src/score/model-session.ts', 'scripts/prune-binaries.ts'],
  pino: ['src/observe/'],
  piscina: ['src/api/kit/body-pool.ts', 'src/kernel/worker-place.ts', 'src/frames/score-pool.ts'],
  preact: ['src/web/dashboard/'],
  'preact-iso': ['src/web/dashboard/'],
  'prom-client': ['src/observe/', 'bench/micro/metrics.ts'],
  re2js: ['src/extract/shape/', 'src/risk/conditions/condition-functions.ts'],
  'robots-parser': ['src/extract/fetch/'],
  saxes: ['src/extract/sinks/'],
  tinybench: ['bench/micro/'],
  'topojson-client': ['src/web/dashboard/'],
  tldts: ['src/kernel/registrable-domain.ts'],
  'tough-cookie': ['src/extract/fetch/'],
  'uWebSockets.js': ['src/http/'],
  uplot: ['src/web/dashboard/'],
  undici: ['src/egress/', 'bench/webhooks/bare-sender.ts'],
  'world-atlas': ['src/web/dashboard/', 'scripts/bundle-web.ts'],
  yaml: ['src/replay/policy-test-file.ts'],
  zod: [
    'src/data/feed-folder.ts',
    'src/data/maxmind.ts',
    'src/contract/',
    'src/risk/policy/policy-check.ts',
    'src/risk/policy/counter-schema.ts',
    'src/risk/policy/policy-schema.ts',
    'src/risk/policy/schema-parts.ts',
    'src/extract/request/',
    'src/extract/shape/',
    'src/replay/',
    'src/api/',
    'src/app/collector-files.ts',
    'src/app/settings.ts',
    'src/app/dashboard-build.ts',
    'src/app/docs-build.ts',
    'src/score/model-manifest.ts',
    'src/state/repair/marker.ts',
  ],
};

/** Packages that are loaded by a computed name, so that the name itself must not occur in other files. */
const LOADED_BY_NAME = ['uWebSockets.js', 'onnxruntime-node'];

/** Platform modules that `src/risk` may import: pure functions only, such as `hash` and `domainToASCII`. */
const RISK_BUILTINS: Readonly<Record<string, RegExp>> = {
  'node:buffer': /./,
  'node:crypto': /^import \{ hash \} from 'node:crypto';$/m,
  'node:url': /^import \{ domainToASCII \} from 'node:url';$/m,
};

/** Clock and randomness, which `src/risk` receives as arguments. */
const IMPURE =
  /\bDate\.now\b|\bMath\.random\b|\bperformance\.now\b|\bnew Date\(\s*\)|\bprocess\.hrtime\b|\brandom(?:Bytes|UUID|Fill|FillSync|Int)\(/;

/** Undoes the alignment of table columns, which the formatter adds. */
function unaligned(markdown: string): string {
  return markdown.replaceAll(/-{3,}/g, '---').replaceAll(/ +/g, ' ');
}

interface SourceFile {
  /** Relative to the root of the project, with forward slashes. */
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

/** Returns the folder in its room; null for a file of a room without inner rooms, and outside `src`. */
function innerRoomOf(path: string): string | null {
  const [first = '', room = '', inner = ''] = path.split('/');
  return first === 'src' && INNER_ROOMS[room] !== undefined ? inner : null;
}

/** Returns whether the tables allow an import between files of one room. */
function isAllowedWithin(room: string, from: string | null, to: string | null): boolean {
  return from === null || to === null || from === to || INNER_ROOMS[room]?.[from]?.includes(to) === true;
}

function packageOf(specifier: string): string {
  const [scope = '', name = ''] = specifier.split('/');
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
}

function isWithin(path: string, places: readonly string[]): boolean {
  return places.some((place) => (place.endsWith('/') ? path.startsWith(place) : path === place));
}

/** Returns one line for each import, name or use that the tables above do not allow. */
function violations(files: readonly SourceFile[]): string[] {
  const found: string[] = [];
  for (const { path, text } of files) {
    const place = placeOf(path);
    const allowed = ARROWS[place];
    if (allowed === undefined) found.push(`${path}: the place ${place} is not in scripts/rooms.ts`);
    const inner = innerRoomOf(path);
    if (inner !== null && INNER_ROOMS[place]?.[inner] === undefined)
      found.push(`${path}: ${inner} is not an inner room of ${place} (INNER_ROOMS in this test)`);
    for (const specifier of specifiersOf(text)) {
      if (specifier.startsWith('.')) {
        const target = relative('/', resolve('/', dirname(path), specifier));
        const to = placeOf(target);
        for (const [folder, places] of Object.entries(WITHIN))
          if (path.startsWith(folder) && !isWithin(target, [folder, ...places]))
            found.push(`${path}: ${folder} may not import ${target} (WITHIN in this test)`);
        if (to === place) {
          const innerTo = innerRoomOf(target);
          if (!isAllowedWithin(place, inner, innerTo))
            found.push(
              `${path}: ${place}/${inner} may not import ${place}/${innerTo} (${target}; INNER_ROOMS in this test)`,
            );
          continue;
        }
        if (!(ONLY_FOR[target] ?? [path]).includes(path)) found.push(`${path}: ${target} may not be imported here`);
        if (!allowed?.includes(to))
          found.push(`${path}: ${place} may not import ${to} (${target}; mayImport in scripts/rooms.ts)`);
        if (HOT.has(place) && COLD.has(to)) found.push(`${path}: hot ${place} may not import cold ${to}`);
      } else if (specifier.startsWith('node:')) {
        const uses = RISK_BUILTINS[specifier];
        if (place === 'risk' && !uses?.test(text)) found.push(`${path}: risk may not import ${specifier}`);
      } else {
        const name = packageOf(specifier);
        if (!isWithin(path, PACKAGES[name] ?? []))
          found.push(`${path}: the package ${name} may not be imported here (PACKAGES in this test)`);
      }
    }
    const code = withoutComments(text);
    for (const name of LOADED_BY_NAME) {
      const named = new RegExp(`['"\`]${name.replace('.', '\\.')}[^ '"\`]*['"\`]`).test(code);
      if (named && !isWithin(path, PACKAGES[name] ?? []))
        found.push(`${path}: the package ${name} may not be named here (PACKAGES in this test)`);
    }
    const impure = place === 'risk' ? IMPURE.exec(code) : null;
    if (impure !== null) found.push(`${path}: risk may not use ${impure[0]}`);
  }
  return [...new Set(found)];
}

function sourceFiles(): SourceFile[] {
  return ['src', 'workers', 'scripts', 'bench'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => join(folder, name).replaceAll('\\', '/'))
      .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
  );
}

describe('the imports between the rooms of the source', () => {
  const files = sourceFiles();

  test('Every import is allowed by the tables', () => {
    expect(files.length).toBeGreaterThan(80);
    expect(violations(files)).toEqual([]);
  });

  test('Every relative import names an existing file with its extension', () => {
    const missing = files.flatMap(({ path, text }) =>
      specifiersOf(text)
        .filter((specifier) => specifier.startsWith('.') && !existsSync(join(ROOT, dirname(path), specifier)))
        .map((specifier) => `${path}: ${specifier}`),
    );
    expect(missing).toEqual([]);
  });

  test('Only the table of programs locates threads and child processes, and the bundle is made from it', () => {
    // A path relative to a source file would be right in `dist/src` and wrong in the bundle.
    const OWN_PATHS = /new URL\([^)]*import\.meta\.url/;
    const finders = files.filter(({ path, text }) => path.startsWith('src/') && OWN_PATHS.test(text));
    expect(finders.map(({ path }) => path)).toEqual(['src/kernel/programs.ts']);
    const workers = files.map(({ path }) => path).filter((path) => path.startsWith('workers/'));
    const programs = Object.values(PROGRAMS).map((path) => `${path}.ts`);
    expect(programs).toEqual(expect.arrayContaining(workers));
    for (const path of programs) expect(files.map((file) => file.path)).toContain(path);
  });

  test('The server loads no description of a response: building these takes 10 ms of a start, and only the document and tests need them', () => {
    const DESCRIPTIONS = /\/contract\/(?:endpoints?(?:\/|\.)|responses\/|headers\.|openapi|json-schema)/;
    const readers = files.filter(
      ({ path, text }) =>
        /^(?:src|workers)\//.test(path) &&
        !path.startsWith('src/contract/') &&
        specifiersOf(text).some((specifier) => DESCRIPTIONS.test(specifier)),
    );
    expect(readers.map(({ path }) => path)).toEqual([]);
  });

  test('No file uses URL.canParse, which is wrong for Latin-1 characters once it is compiled', () => {
    const users = files.filter(({ text }) => /\bURL\.canParse\b/.test(withoutComments(text)));
    expect(users.map(({ path }) => path)).toEqual([]);
  });

  test('zod is imported as a namespace, so that the bundle omits its unused parts', () => {
    const others = files.filter(({ text }) => /^import (?!(?:type )?\* as z )[^;]*from 'zod'/m.test(text));
    expect(others.map(({ path }) => path)).toEqual([]);
  });

  test.each([['src', ARROWS] as const, ...Object.entries(INNER_ROOMS)])(
    'The arrows of %s have no cycle: no room can be reached from itself',
    (_name, arrows) => {
      const reaches = (from: string, seen: Set<string>): Set<string> => {
        for (const to of arrows[from] ?? []) {
          if (seen.has(to)) continue;
          seen.add(to);
          reaches(to, seen);
        }
        return seen;
      };
      for (const place of Object.keys(arrows))
        expect([place, reaches(place, new Set()).has(place)]).toEqual([place, false]);
    },
  );

  test.each(Object.entries(INNER_ROOMS))('Every arrow between the inner rooms of %s is used', (room, arrows) => {
    const used = new Set(
      files.flatMap(({ path, text }) =>
        specifiersOf(text)
          .filter((specifier) => specifier.startsWith('.') && path.startsWith(`src/${room}/`))
          .map(
            (specifier) =>
              `${innerRoomOf(path)} → ${innerRoomOf(relative('/', resolve('/', dirname(path), specifier)))}`,
          ),
      ),
    );
    const allowed = Object.entries(arrows).flatMap(([from, tos]) => tos.map((to) => `${from} → ${to}`));
    expect(allowed.filter((arrow) => !used.has(arrow))).toEqual([]);
    const folders = files.flatMap(({ path }) => (path.startsWith(`src/${room}/`) ? [innerRoomOf(path)] : []));
    expect(new Set(folders)).toEqual(new Set(Object.keys(arrows)));
  });

  test('Every arrow of the table is used by at least one import', () => {
    const used = new Set(
      files.flatMap(({ path, text }) =>
        specifiersOf(text)
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => `${placeOf(path)} → ${placeOf(relative('/', resolve('/', dirname(path), specifier)))}`),
      ),
    );
    const unused = Object.entries(ARROWS).flatMap(([from, tos]) =>
      tos.map((to) => `${from} → ${to}`).filter((arrow) => !used.has(arrow)),
    );
    expect(unused).toEqual([]);
  });

  test('No two files of the source have the same name', () => {
    const names = files.map(({ path }) => path).filter((path) => path.startsWith('src/'));
    const counts = new Map<string, string[]>();
    for (const path of names) counts.set(basename(path), [...(counts.get(basename(path)) ?? []), path]);
    expect([...counts.values()].filter((paths) => paths.length > 1)).toEqual([]);
  });

  test.each(['docs/architecture.md'])(
    'The tables of folders in %s match the table of rooms (npm run write:structure updates them)',
    (page) => {
      const text = readFileSync(join(ROOT, page), 'utf8');
      const generated = withRooms(text);
      expect(unaligned(text)).toBe(unaligned(generated));
      expect(text).toMatch(/<!-- rooms: \w+ -->/);
    },
  );

  test('A room stands one floor above the highest room that it may import', () => {
    const rooms = {
      a: { mayImport: [] },
      b: { mayImport: ['a'] },
      c: { mayImport: ['a', 'b'] },
      d: { mayImport: ['a'] },
    };
    expect(floorsOf(rooms as never)).toEqual([['a'], ['b', 'd'], ['c']]);
  });

  test('The tables name only existing rooms, folders and files', () => {
    const places = new Set(files.map(({ path }) => placeOf(path)));
    expect(Object.keys(ARROWS).filter((place) => !places.has(place))).toEqual([]);
    for (const path of Object.keys(ONLY_FOR)) expect(files.map((file) => file.path)).toContain(path);
  });
});

describe('the check of the imports', () => {
  const WRONG: readonly (readonly [name: string, path: string, text: string])[] = [
    [
      'The check finds a lower place that imports a higher one',
      'src/kernel/x.ts',
      "import { a } from '../risk/signals/ip.ts';",
    ],
    [
      'The check finds a hot place that imports a cold one',
      'src/decide/x.ts',
      "import { a } from '../api/operation-handlers.ts';",
    ],
    [
      'The check finds a hot place that imports a cold one’s type',
      'src/score/x.ts',
      "import type { A } from '../cli/context.ts';",
    ],
    [
      'The check finds a hot place that exports from a cold one',
      'src/frames/x.ts',
      "export { a } from '../api/operation-handlers.ts';",
    ],
    [
      'The check finds a hot place that imports a cold one dynamically',
      'src/http/x.ts',
      "const a = await import('../cli/main.ts');",
    ],
    [
      'The check finds a hot place that imports a cold one over several lines',
      'src/http/x.ts',
      "import {\n  a,\n  b,\n} from '../api/operation-handlers.ts';",
    ],
    [
      'The check finds a hot place that imports a cold one for its side effects',
      'src/http/x.ts',
      "import '../api/operation-handlers.ts';",
    ],
    [
      'The check finds another command that imports the main file',
      'src/cli/commands/keys-command.ts',
      "import { serve } from '../../app/serve.ts';",
    ],
    [
      'The check finds a worker that imports the main file',
      'workers/x.ts',
      "import { serve } from '../src/app/serve.ts';",
    ],
    [
      'The check finds the store in the decide path',
      'src/decide/x.ts',
      "import { openStore } from '../state/open-store.ts';",
    ],
    [
      'The check finds the network in a connector',
      'src/extract/connectors/x.ts',
      "import { a } from '../fetch/guarded-source.ts';",
    ],
    [
      'The check finds the store in a reader',
      'src/extract/read/x.ts',
      "import { openStore } from '../../state/open-store.ts';",
    ],
    [
      'The check finds a lower inner room that imports a higher one',
      'src/state/tables/x.ts',
      "import { a } from '../feed/apply.ts';",
    ],
    ['The check finds a file beside the inner rooms', 'src/state/x.ts', ''],
    ['The check finds a place that is not in the table', 'src/elsewhere/x.ts', ''],
    ['The check finds a file beside the places', 'src/x.ts', ''],
    ['The check finds the transport in another place', 'src/decide/x.ts', "import uws from 'uWebSockets.js';"],
    [
      'The check finds the name of the transport in another place',
      'src/decide/x.ts',
      "const a = require('uWebSockets.js-linux-x64-20');",
    ],
    ['The check finds the store’s package in another place', 'src/score/x.ts', "import { open } from 'lmdb';"],
    [
      'The check finds the model runtime in another place',
      'src/frames/x.ts',
      "createRequire(import.meta.url)('onnxruntime-node');",
    ],
    ['The check finds a package that is not in the table', 'src/kernel/x.ts', "import _ from 'lodash';"],
    ['The check finds a scoped package', 'src/kernel/x.ts', "import _ from '@scope/name/part';"],
    ['The check finds file access in risk', 'src/risk/x.ts', "import { readFileSync } from 'node:fs';"],
    ['The check finds random bytes in risk', 'src/risk/x.ts', "import { hash, randomBytes } from 'node:crypto';"],
    ['The check finds the clock in risk', 'src/risk/x.ts', 'const now = Date.now();'],
    ['The check finds the date in risk', 'src/risk/x.ts', 'const now = new Date();'],
    ['The check finds durations in risk', 'src/risk/x.ts', 'const now = performance.now();'],
    ['The check finds randomness in risk', 'src/risk/rules/x.ts', 'const dice = Math.random();'],
  ];

  test.each(WRONG)('%s', (_name, path, text) => {
    expect(violations([{ path, text }])).not.toEqual([]);
  });

  test('The check reports neither allowed imports nor comments nor similar words', () => {
    const right: readonly SourceFile[] = [
      {
        path: 'src/risk/x.ts',
        text: "// never Date.now()\n/* nor Math.random() from '../cli/main.ts' */\nimport { isIP } from '../kernel/x.ts';",
      },
      { path: 'src/risk/rules/x.ts', text: "import { hit } from './rule.ts';\nconst day = new Date(0);" },
      { path: 'src/http/x.ts', text: "import uws from 'uWebSockets.js';\nimport { createServer } from 'node:http';" },
      { path: 'src/cli/commands/serve-command.ts', text: "const { serve } = await import('../../app/serve.ts');" },
    ];
    expect(violations(right)).toEqual([]);
  });
});

/** What the next arrangement of threads deletes or merges: parts that are over their bound, as `path` or `path name`. */
const GOES_WITH_THREADS: readonly string[] = [
  'src/api/kit/call-responses.ts createCallResponses',
  'src/api/kit/endpoint-factory.ts',
  'src/api/kit/endpoint-factory.ts createEndpointFactory',
  'src/cluster/jobs/shared-extraction.ts openSharedExtraction',
  'src/decide/pipeline.ts createDecidePipeline',
  'src/extract/door/extraction-thread.ts openExtractions',
  'src/extract/engine/job-engine.ts createJobEngine',
  'src/extract/engine/scheduler.ts',
  'src/extract/engine/scheduler.ts Scheduler',
  'src/webhooks/delivery-worker.ts',
  'src/webhooks/delivery-worker.ts DeliveryWorker',
  'src/webhooks/dispatcher.ts',
  'src/webhooks/dispatcher.ts Dispatcher',
  'src/webhooks/prefetch.ts Prefetch',
];

/** Tables of data, which may have as many lines as they have rows, and a module that is written from the contract. */
const DATA = ['src/risk/data/', 'src/client/api-types.ts'];

/** A unit over its bound, by its name in `GOES_WITH_THREADS`. */
interface Oversize {
  readonly unit: string;
  readonly bound: string;
}

/** Returns one line for each unit over its bound and each exported name that two files share, without the exceptions above. */
function oversize(files: readonly SourceFile[]): { readonly units: Oversize[]; readonly names: string[] } {
  const units: Oversize[] = [];
  const homes = new Map<string, string[]>();
  for (const { path, text } of files) {
    const shape = shapeOf(path, text);
    for (const { kind, name, size, max } of shape.units) {
      if (kind === 'file' && isWithin(path, DATA)) continue;
      if (size > max)
        units.push({ unit: name === '' ? path : `${path} ${name}`, bound: `${kind} of ${size}, at most ${max}` });
    }
    for (const name of shape.exported) homes.set(name, [...(homes.get(name) ?? []), path]);
  }
  return {
    units,
    names: [...homes].flatMap(([name, paths]) => (paths.length > 1 ? [`${name}: ${paths.join(', ')}`] : [])).toSorted(),
  };
}

describe('the shape of the source', () => {
  const files = sourceFiles().filter(({ path }) => /^(?:src|workers)\//.test(path));
  const found = oversize(files);

  test('Functions, classes and files of src and workers keep their bounds, and no exception is stale', () => {
    const isExcepted = ({ unit }: Oversize): boolean => GOES_WITH_THREADS.includes(unit);
    expect(found.units.filter((one) => !isExcepted(one))).toEqual([]);
    const units = found.units.map(({ unit }) => unit);
    expect(GOES_WITH_THREADS.filter((unit) => !units.includes(unit))).toEqual([]);
  });

  test('An exported name stands for one thing in src', () => {
    expect(found.names).toEqual([]);
  });

  test('The check counts nested functions with the function around them, and the constructor as a method', () => {
    const lines = (count: number): string => 'x();\n'.repeat(count);
    const long: readonly (readonly [string, string[]])[] = [
      [`function a() {\n${lines(68)}}`, []],
      [`function a() {\n${lines(69)}}`, ['src/x.tsx a']],
      [`const a = () => {\nconst b = () => {\n${lines(67)}};\n};`, ['src/x.tsx a']],
      [`class A {\n#a() {\n${lines(69)}}}`, ['src/x.tsx #a']],
      [`const a = () => {\n${lines(100)}return <p/>;\n};`, []],
      [`const a = () => {\n${lines(118)}return <p/>;\n};`, ['src/x.tsx a']],
      [`class A {\nconstructor() {}\n${'get a() { return 1; }\n'.repeat(24)}}`, []],
      [`class A {\nconstructor() {}\n${'get a() { return 1; }\n'.repeat(25)}}`, ['src/x.tsx A']],
      [lines(400), []],
      [lines(401), ['src/x.tsx']],
    ];
    const unitsOf = (path: string, text: string): string[] => oversize([{ path, text }]).units.map(({ unit }) => unit);
    for (const [text, units] of long) expect(unitsOf('src/x.tsx', text)).toEqual(units);
    expect(unitsOf('src/risk/data/x.ts', lines(401))).toEqual([]);
  });

  test('The check finds an exported name in two files, but not what is exported again', () => {
    const names = (...texts: string[]): string[] =>
      oversize(texts.map((text, index) => ({ path: `src/x${index}.ts`, text }))).names;
    expect(names('export const a = 1;', 'export function a() {}')).toEqual(['a: src/x0.ts, src/x1.ts']);
    expect(names('export interface A {}', 'type B = 1; export type { B as A };')).toEqual(['A: src/x0.ts, src/x1.ts']);
    expect(names('export class A {}', "export { A } from './x0.ts';")).toEqual([]);
    expect(names('export type A = 1; export const A = 1;')).toEqual([]);
  });
});

interface Locked {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
}

/** Texts that rustc leaves in every binary: paths of its sources and its panic messages. */
const RUST_MARKS = ['/rustc/', 'rustc version', 'panicked at'];

function rustMark(bytes: Buffer): string | null {
  return RUST_MARKS.find((mark) => bytes.includes(mark)) ?? null;
}

/** Returns the native modules of the locked packages that are installed. Modules of nested packages are left to their own entries. */
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
  test('No native module of production was built from Rust', () => {
    const modules = nativeModules((dev) => !dev);
    expect(modules.length).toBeGreaterThan(0);
    expect(modules.filter((path) => rustMark(readFileSync(join(ROOT, path))) !== null)).toEqual([]);
  });

  test('Native modules built from Rust are recognised by their marks, as those of the development tools show', () => {
    expect(rustMark(Buffer.from('\0\0/rustc/90b35a6239c3d8bdabc530a6a0816f7ff89a0aaf/library/core\0'))).toBe('/rustc/');
    expect(rustMark(Buffer.from('trust, crusty and C++'))).toBeNull();
    const oxc = nativeModules((dev) => dev).filter((path) => /ox(?:lint|fmt|c-)/.test(path));
    for (const path of oxc) expect([path, rustMark(readFileSync(join(ROOT, path)))]).not.toEqual([path, null]);
  });
});
