import {
  SourceFailure,
  type Connector,
  type FoundRecord,
  type JsonObject,
  type JsonValue,
  type Source,
} from '../base/connector.ts';
import { isoDate } from '../read/dates.ts';
import { address } from './kit/api-address.ts';
import { chained, type ChainStart, type ChainTurn, type PageResult } from './kit/chain.ts';
import {
  at,
  givenText,
  integerOf,
  listIn,
  objectIn,
  objectOf,
  readEach,
  textMember,
  textsOf,
  urlOf,
} from './kit/json.ts';
import { addressableName, ONE_REQUEST, PACKAGE_FIELDS, singleRecord, versionsPage } from './kit/package-registries.ts';
import { recordOf } from './kit/record.ts';
import * as schema from './kit/schema.ts';

const BASE = 'https://registry.npmjs.org';
const SITE = 'https://www.npmjs.com';
/** Source: the registry's API, `GET /-/v1/search`: larger values are treated as 250. */
const PAGE_SIZE_MAX = 250;
/** The form of a package that omits times, people and texts. Source: "Package Metadata", "Abbreviated metadata format". */
const ABBREVIATED = 'application/vnd.npm.install-v1+json';

interface Args extends JsonObject {
  /** The name of the package or the query. */
  readonly what: string;
}

const LINKS = {
  repository_url: schema.urlField('Its source code.'),
  bugs_url: schema.urlField('Where bugs are reported.'),
};
const HIT = schema.recordSchema({
  id: schema.idField('Name of the package.'),
  url: schema.urlField('The package on npmjs.com.'),
  ...schema.without(PACKAGE_FIELDS, 'license'),
  ...LINKS,
  author: schema.authorField('The account that published the newest version.'),
  maintainers: schema.textsField('Accounts that may publish it.'),
  published_at: schema.dateField('When the newest version was published.'),
});
const PACKAGE = schema.recordSchema({
  id: schema.idField('Name of the package.'),
  url: schema.urlField('The package on npmjs.com.'),
  ...PACKAGE_FIELDS,
  ...LINKS,
  author: schema.authorField('As the package names them.'),
  maintainers: schema.textsField('Accounts that may publish it.'),
  dependencies: schema.objectsField('Packages that it needs.', {
    name: schema.textField('Name of the package.'),
    versions: schema.textField('Versions of it that are accepted.'),
  }),
  node_versions: schema.textField('Versions of Node.js that it says it runs on.'),
  deprecation: schema.textField('Why it should not be used any more; null if it is not deprecated.'),
  download_url: schema.urlField('Its archive.'),
});
const VERSION = schema.recordSchema({
  id: schema.idField('`name@version`.'),
  url: schema.urlField('The version on npmjs.com.'),
  name: schema.textField('Name of the package.'),
  version: schema.textField('The version.'),
  published_at: schema.dateField('When it was published; null if the full document of the package is over 10 MiB.'),
  tags: schema.textsField('Names that lead to this version, such as `latest`.'),
  license: schema.textField('SPDX expression, or the words that the package has for it.'),
  author: schema.authorField('The account that published it.'),
  node_versions: schema.textField('Versions of Node.js that it says it runs on.'),
  deprecation: schema.textField('Why it should not be used any more; null if it is not deprecated.'),
  download_url: schema.urlField('Its archive.'),
});

async function readSearch({ args, at: cursor, size }: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const from = Number(cursor ?? 0);
  const { body } = await source.json(
    address(source.base(BASE), ['-', 'v1', 'search'], { text: args.what, size, from }),
  );
  const items = listIn(at(body, 'objects'), 'objects');
  const total = integerOf(at(body, 'total'));
  const isMore = items.length > 0 && (total === null ? items.length >= size : from + items.length < total);
  return { kind: 'page', records: readEach(items, readHit), next: isMore ? from + items.length : null, total };
}

async function readPackage(turn: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const { body } = await source.json(address(source.base(BASE), [turn.args.what, 'latest']));
  return singleRecord(readManifest(objectIn(body, 'the package')), turn);
}

async function readVersions({ args }: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const document = await readDocument(address(source.base(BASE), [args.what]), source);
  const times = objectOf(at(document, 'time'));
  const versions = objectOf(at(document, 'versions'));
  if (versions === null && objectOf(at(times, 'unpublished')) !== null)
    throw new SourceFailure('source_not_found', `${args.what} was unpublished`, false);
  const items = Object.values(objectIn(versions ?? undefined, 'versions'));
  const tags = tagsByVersion(objectOf(at(document, 'dist-tags')) ?? {});
  return versionsPage(readEach(items, (item) => readVersion(item, times, tags)));
}

/** Packages with thousands of versions have documents that are too large; the abbreviated ones are a tenth of their size. */
async function readDocument(url: string, source: Source): Promise<JsonValue> {
  try {
    return (await source.json(url)).body;
  } catch (error) {
    if (!(error instanceof SourceFailure) || error.reason !== 'unsupported_content') throw error;
    return (await source.json(url, { headers: { accept: ABBREVIATED } })).body;
  }
}

function readHit(item: JsonObject): FoundRecord | null {
  const found = at(item, 'package');
  const name = addressableName(at(found, 'name'));
  const publisher = textMember(at(found, 'publisher', 'username'));
  return recordOf(name, name === null ? null : pageOf(name), {
    name,
    version: textMember(at(found, 'version')),
    description: textMember(at(found, 'description')),
    keywords: textsOf(at(found, 'keywords')),
    homepage_url: urlOf(at(found, 'links', 'homepage')),
    repository_url: repositoryOf(at(found, 'links', 'repository')),
    bugs_url: urlOf(at(found, 'links', 'bugs')),
    author: accountOf(publisher),
    maintainers: textsOf(at(found, 'maintainers'), (person) => textMember(at(person, 'username'))),
    published_at: isoDate(at(found, 'date')),
  });
}

function readManifest(item: JsonObject): FoundRecord | null {
  const name = addressableName(item['name']);
  const needed = objectOf(item['dependencies']);
  return recordOf(name, name === null ? null : pageOf(name), {
    name,
    version: textMember(item['version']),
    description: textMember(item['description']),
    license: licenseOf(item),
    keywords: textsOf(item['keywords']),
    homepage_url: urlOf(item['homepage']),
    repository_url: repositoryOf(item['repository']),
    bugs_url: urlOf(item['bugs']) ?? urlOf(at(item, 'bugs', 'url')),
    author: schema.author(textMember(at(item, 'author', 'name')), urlOf(at(item, 'author', 'url'))),
    maintainers: textsOf(item['maintainers'], (person) => textMember(at(person, 'name'))),
    dependencies: Object.entries(needed ?? {}).map(([other, versions]) => ({
      name: other,
      versions: textMember(versions),
    })),
    ...distributionOf(item),
  });
}

function readVersion(
  item: JsonObject,
  times: JsonObject | null,
  tags: ReadonlyMap<string, readonly string[]>,
): FoundRecord | null {
  const name = addressableName(item['name']);
  const version = addressableName(item['version']);
  if (name === null || version === null) return null;
  return recordOf(`${name}@${version}`, `${pageOf(name)}/v/${encodeURIComponent(version)}`, {
    name,
    version,
    published_at: isoDate(at(times, version)),
    tags: tags.get(version) ?? [],
    license: licenseOf(item),
    author: accountOf(textMember(at(item, '_npmUser', 'name'))),
    ...distributionOf(item),
  });
}

function tagsByVersion(tags: JsonObject): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [tag, value] of Object.entries(tags)) {
    const version = textMember(value);
    if (version === null) continue;
    const others = found.get(version);
    if (others === undefined) found.set(version, [tag]);
    else others.push(tag);
  }
  return found;
}

function distributionOf(item: JsonObject): JsonObject {
  return {
    node_versions: textMember(at(item, 'engines', 'node')),
    deprecation: textMember(item['deprecated']),
    download_url: urlOf(at(item, 'dist', 'tarball')),
  };
}

/** Old packages have an object, or a list of them. */
function licenseOf(item: JsonObject): string | null {
  const given = item['license'];
  return textMember(given) ?? textMember(at(given, 'type'));
}

/** `git+https://…` is how the registry writes the address of a repository that is at `https://…`. */
function repositoryOf(value: JsonValue | undefined): string | null {
  const text = textMember(value) ?? textMember(at(value, 'url'));
  return text === null ? null : urlOf(text.replace(/^git\+/, ''));
}

function accountOf(name: string | null): JsonObject | null {
  return name === null ? null : schema.author(name, `${SITE}/~${encodeURIComponent(name)}`);
}

function pageOf(name: string): string {
  return `${SITE}/package/${name.split('/').map(encodeURIComponent).join('/').replace('%40', '@')}`;
}

function begin(input: JsonObject, name: string): ChainStart<Args> {
  return { kind: 'args', args: { what: givenText(input, name) } };
}

/** Source: "package.json", `name`; capitals occur in old names. */
const PACKAGE_NAME = schema.nameInput(
  'Name of the package, for example `@scope/name`.',
  '^(?:@[A-Za-z0-9~_-][A-Za-z0-9._~-]*/)?[A-Za-z0-9~_-][A-Za-z0-9._~-]*$',
  214,
);
const EXAMPLE_AUTHOR = { name: 'mira', url: 'https://www.npmjs.com/~mira' };
const EXAMPLE_HEAD = { id: '@tea/kettle', url: 'https://www.npmjs.com/package/@tea/kettle', name: '@tea/kettle' };
const EXAMPLE_LINKS = {
  homepage_url: 'https://kettle.example/',
  repository_url: 'https://git.example.org/tea/kettle.git',
  bugs_url: 'https://git.example.org/tea/kettle/issues',
};
const EXAMPLE_DISTRIBUTION = {
  node_versions: '>=20',
  deprecation: null,
  download_url: 'https://registry.npmjs.org/@tea/kettle/-/kettle-2.0.0.tgz',
};

export const npm: Connector = {
  id: 'npm',
  title: 'npm',
  description: 'Public packages of the npm registry, their versions, and its search.',
  docsUrl: 'https://github.com/npm/registry/blob/main/docs/REGISTRY-API.md',
  hosts: [new URL(BASE).hostname],
  terms: {
    termsUrl: 'https://docs.npmjs.com/policies/open-source-terms',
    attribution: null,
    ratePolicy: 'No key. The registry responds with 429 to clients that send too many requests.',
  },
  operations: [
    chained<Args>({
      name: 'search.packages',
      description:
        "Packages that the registry's search finds, in its order. Its qualifiers work, such as `keywords:tea` and `author:mira`.",
      paging: 'By offset, 250 a page; the total is announced.',
      tier: 'basic',
      pageSizeMax: PAGE_SIZE_MAX,
      sizing: 'free',
      input: schema.inputSchema({ query: schema.queryInput('Words to look for.') }, ['query']),
      record: HIT,
      example: {
        input: { query: 'kettle' },
        record: {
          ...EXAMPLE_HEAD,
          version: '2.0.0',
          description: 'A kettle that logs',
          keywords: ['tea'],
          ...EXAMPLE_LINKS,
          author: EXAMPLE_AUTHOR,
          maintainers: ['mira', 'noor'],
          published_at: '2024-04-18T14:00:00Z',
        },
      },
      begin: (input) => begin(input, 'query'),
      read: readSearch,
    }),
    chained<Args>({
      ...ONE_REQUEST,
      name: 'package.details',
      description: 'A package as its newest version describes it: one record.',
      paging: 'One request.',
      input: schema.inputSchema({ package: PACKAGE_NAME }, ['package']),
      record: PACKAGE,
      example: {
        input: { package: '@tea/kettle' },
        record: {
          ...EXAMPLE_HEAD,
          version: '2.0.0',
          description: 'A kettle that logs',
          license: 'MIT',
          keywords: ['tea'],
          ...EXAMPLE_LINKS,
          author: { name: 'Mira', url: null },
          maintainers: ['mira', 'noor'],
          dependencies: [{ name: 'whistle', versions: '^1.2.0' }],
          ...EXAMPLE_DISTRIBUTION,
        },
      },
      begin: (input) => begin(input, 'package'),
      read: readPackage,
    }),
    chained<Args>({
      ...ONE_REQUEST,
      name: 'package.versions',
      description: 'All versions of a package, the newest first.',
      paging: 'One request, which gives all versions and so the total.',
      input: schema.inputSchema({ package: PACKAGE_NAME }, ['package']),
      record: VERSION,
      example: {
        input: { package: '@tea/kettle' },
        record: {
          id: '@tea/kettle@2.0.0',
          url: 'https://www.npmjs.com/package/@tea/kettle/v/2.0.0',
          name: '@tea/kettle',
          version: '2.0.0',
          published_at: '2024-04-18T14:00:00Z',
          tags: ['latest'],
          license: 'MIT',
          author: EXAMPLE_AUTHOR,
          ...EXAMPLE_DISTRIBUTION,
        },
      },
      begin: (input) => begin(input, 'package'),
      read: readVersions,
    }),
  ],
};
