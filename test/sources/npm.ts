import type { JsonObject } from '../../src/extract/base/connector.ts';
import { json, LARGE_PAGES, many, numberIn, sizeIn, type SourceCase, type World } from './source-case.ts';

/**
 * The npm registry. Shapes: github.com/npm/registry, "Public Registry API" (search, package, version) and "Package Metadata" (full and
 * abbreviated). `isLarge`: the full document is larger than a response may be.
 */
export function npmWorld(records: number, { isLarge = false } = {}): World {
  return ({ url: text, headers }) => {
    const url = new URL(text);
    if (url.pathname === '/-/v1/search') return search(url, records);
    if (records === 0) return json({ error: 'Not found' }, {}, 404);
    if (url.pathname === '/%40tea%2Fkettle/latest') return json(manifest(records - 1));
    if (url.pathname !== '/%40tea%2Fkettle') return json({ error: 'Not found' }, {}, 404);
    if (headers['accept'] === 'application/vnd.npm.install-v1+json') return json(abbreviated(records));
    return isLarge ? { body: 'x'.repeat(100), headers: { 'content-type': 'text/html' } } : json(full(records));
  };
}

function search(url: URL, records: number) {
  const from = numberIn(url, 'from', 0);
  const size = Math.min(250, numberIn(url, 'size', 20));
  const objects = many(records, hit).slice(from, from + size);
  return json({ objects, total: records, time: 'Thu May 02 2024 08:00:00 GMT+0000 (UTC)' });
}

function hit(place: number): JsonObject {
  return {
    package: {
      name: `kettle-${place}`,
      version: '2.0.0',
      description: 'A kettle that logs',
      ...(place % 2 === 0 && { keywords: ['tea'] }),
      date: '2024-04-18T14:00:00.000Z',
      links: {
        npm: `https://www.npmjs.com/package/kettle-${place}`,
        homepage: 'http://kettle.example/',
        repository: 'https://git.example.org/tea/kettle',
      },
      publisher: { username: 'mira', email: 'mira@example.com' },
      maintainers: [{ username: 'mira', email: 'mira@example.com' }],
    },
    score: { final: 0.92, detail: { quality: 0.92, popularity: 0.84, maintenance: 0.99 } },
    searchScore: 100_000.914,
  };
}

const versionAt = (place: number): string => `1.${place}.0`;

/** Four months to a version, so that no two have the same time. */
function timeAt(place: number): string {
  return new Date(Date.UTC(1990, place, 1)).toISOString();
}

function manifest(place: number): JsonObject {
  return {
    _id: `@tea/kettle@${versionAt(place)}`,
    name: '@tea/kettle',
    version: versionAt(place),
    description: 'A kettle that logs',
    license: place % 2 === 0 ? 'MIT' : { type: 'MIT', url: 'https://kettle.example/license' },
    keywords: ['tea'],
    homepage: 'https://kettle.example/',
    repository: { type: 'git', url: 'git+https://git.example.org/tea/kettle.git' },
    bugs: { url: 'https://git.example.org/tea/kettle/issues' },
    author: { name: 'Mira', email: 'mira@example.com' },
    maintainers: [{ name: 'mira', email: 'mira@example.com' }],
    dependencies: { whistle: '^1.2.0' },
    engines: { node: '>=20' },
    _npmUser: { name: 'mira', email: 'mira@example.com' },
    ...(place % 3 === 1 && { deprecated: 'It leaks' }),
    dist: {
      shasum: 'bbf102d5ae73afe2c553295e0fb02230216f65b1',
      tarball: `https://registry.npmjs.org/@tea/kettle/-/kettle-${versionAt(place)}.tgz`,
    },
  };
}

function full(records: number): JsonObject {
  const places = [...Array.from({ length: records }).keys()];
  return {
    _id: '@tea/kettle',
    _rev: '3-085759e977d42299e64a35aedc17d250',
    name: '@tea/kettle',
    'dist-tags': { latest: versionAt(records - 1), next: versionAt(records - 1), old: versionAt(0) },
    versions: Object.fromEntries(places.map((place) => [versionAt(place), manifest(place)])),
    time: {
      created: timeAt(0),
      modified: timeAt(records),
      ...Object.fromEntries(places.map((place) => [versionAt(place), timeAt(place)])),
    },
    readme: '# Kettle',
  };
}

function abbreviated(records: number): JsonObject {
  const places = [...Array.from({ length: records }).keys()];
  const shortened = (place: number): JsonObject => {
    const { name = null, version = null, dependencies = null, engines = null, dist = null } = manifest(place);
    return { name, version, dependencies, engines, dist };
  };
  return {
    name: '@tea/kettle',
    modified: timeAt(records),
    'dist-tags': { latest: versionAt(records - 1) },
    versions: Object.fromEntries(places.map((place) => [versionAt(place), shortened(place)])),
  };
}

const COMMON = {
  connector: 'npm',
  world: (records: number) => npmWorld(records),
  paging: 'none',
  sizeAsked: null,
  hostIn: null,
  announcesTotal: true,
} as const;
const PACKAGE = { package: '@tea/kettle' };

export const npmCases: readonly SourceCase[] = [
  {
    ...COMMON,
    operation: 'search.packages',
    input: { query: 'kettle' },
    paging: 'cursor',
    sizeAsked: sizeIn('size'),
    largeCount: LARGE_PAGES,
  },
  { ...COMMON, operation: 'package.details', input: PACKAGE, recordsMax: 1, emptyIsMissing: true },
  { ...COMMON, operation: 'package.versions', input: PACKAGE, emptyIsMissing: true },
];
