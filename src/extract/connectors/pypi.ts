import type { Connector, FoundRecord, JsonObject, JsonValue, Source } from '../base/connector.ts';
import { isoDate } from '../read/dates.ts';
import { address } from './kit/api-address.ts';
import { chained, type ChainStart, type ChainTurn, type PageResult } from './kit/chain.ts';
import {
  at,
  flagOf,
  givenText,
  integerOf,
  itemsOf,
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

const BASE = 'https://pypi.org';
/** Choice: some projects put the whole text of their licence into the field. */
const LICENSE_CHARACTERS_MAX = 100;

interface Args extends JsonObject {
  readonly project: string;
}

const FILES = schema.objectsField('Its files.', {
  name: schema.textField('Name of the file.'),
  url: schema.urlField('The file.'),
  kind: schema.textField('For example `sdist` or `bdist_wheel`.'),
  bytes: schema.countField('Its size.'),
  sha256: schema.textField('Its hash, in hexadecimal digits.'),
  published_at: schema.dateField('When it was uploaded.'),
});
const YANKED = {
  is_yanked: schema.flagField('Whether it was withdrawn by its author.'),
  yanked_reason: schema.textField('Why it was withdrawn.'),
};
const PACKAGE = schema.recordSchema({
  id: schema.idField('Name of the project.'),
  url: schema.urlField('The project on PyPI.'),
  ...PACKAGE_FIELDS,
  text: schema.textField('The long description, as it was written.'),
  text_type: schema.textField('Media type of `text`, for example `text/markdown`.'),
  author: schema.authorField('As the project names them; PyPI has no page for them.'),
  links: schema.objectsField('Links that the project names.', {
    name: schema.textField('For example `Source`.'),
    url: schema.urlField('Where it leads.'),
  }),
  classifiers: schema.textsField('Trove classifiers.'),
  python_versions: schema.textField('Versions of Python that it says it runs on.'),
  dependencies: schema.textsField('What it needs, as PEP 508 writes it.'),
  published_at: schema.dateField('When the first file of the newest version was uploaded.'),
  ...YANKED,
  files: FILES,
});
const VERSION = schema.recordSchema({
  id: schema.idField('`name==version`.'),
  url: schema.urlField('The version on PyPI.'),
  name: schema.textField('Name of the project.'),
  version: schema.textField('The version.'),
  published_at: schema.dateField('When its first file was uploaded; null if it has no files.'),
  python_versions: schema.textField('Versions of Python that it says it runs on.'),
  ...YANKED,
  files: FILES,
});

async function readProject({ args }: ChainTurn<Args>, source: Source): Promise<JsonValue> {
  return (await source.json(address(source.base(BASE), ['pypi', args.project, 'json']))).body;
}

async function readPackage(turn: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const body = await readProject(turn, source);
  const info = objectIn(at(body, 'info'), 'info');
  const name = addressableName(info['name']);
  const license = textMember(info['license']);
  const links = objectOf(info['project_urls']);
  const record = recordOf(name, name === null ? null : pageOf(name), {
    name,
    version: textMember(info['version']),
    description: textMember(info['summary']),
    license:
      textMember(info['license_expression']) ??
      (license !== null && license.length <= LICENSE_CHARACTERS_MAX ? license : null),
    keywords: keywordsOf(info['keywords']),
    homepage_url: urlOf(info['home_page']) ?? urlOf(linkNamed(links, 'homepage')),
    text: textMember(info['description']),
    text_type: textMember(info['description_content_type']),
    author: authorOf(info['author'], info['author_email']),
    links: links === null ? null : Object.entries(links).map(([label, url]) => ({ name: label, url: urlOf(url) })),
    classifiers: textsOf(info['classifiers']),
    python_versions: textMember(info['requires_python']),
    dependencies: textsOf(info['requires_dist']),
    published_at: firstUpload(at(body, 'urls')),
    is_yanked: flagOf(info['yanked']),
    yanked_reason: textMember(info['yanked_reason']),
    files: filesOf(at(body, 'urls')),
  });
  return singleRecord(record, turn);
}

async function readVersions(turn: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const body = await readProject(turn, source);
  const name = addressableName(at(body, 'info', 'name')) ?? turn.args.project;
  const releases = objectIn(at(body, 'releases'), 'releases');
  const items = Object.entries(releases).map(([version, files]) => ({ version, files }));
  return versionsPage(readEach(items, (item) => readVersion(item, name)));
}

function readVersion({ version: given, files }: JsonObject, name: string): FoundRecord | null {
  const version = addressableName(given);
  if (version === null || !Array.isArray(files)) return null;
  const all = itemsOf(files);
  // Files are yanked one by one; a version is when all of them are.
  const isYanked = all.length === 0 ? null : all.every((file) => at(file, 'yanked') === true);
  return recordOf(`${name}==${version}`, `${pageOf(name)}${encodeURIComponent(version)}/`, {
    name,
    version,
    published_at: firstUpload(files),
    python_versions: textMember(at(all[0], 'requires_python')),
    is_yanked: isYanked,
    yanked_reason: isYanked === true ? textMember(at(all[0], 'yanked_reason')) : null,
    files: filesOf(files),
  });
}

function filesOf(value: JsonValue | undefined): readonly JsonObject[] | null {
  if (!Array.isArray(value)) return null;
  return itemsOf(value).map((file) => ({
    name: textMember(at(file, 'filename')),
    url: urlOf(at(file, 'url')),
    kind: textMember(at(file, 'packagetype')),
    bytes: integerOf(at(file, 'size')),
    sha256: textMember(at(file, 'digests', 'sha256')),
    published_at: isoDate(at(file, 'upload_time_iso_8601')),
  }));
}

function firstUpload(files: JsonValue | undefined): string | null {
  const times = itemsOf(files).flatMap((file) => isoDate(at(file, 'upload_time_iso_8601')) ?? []);
  return times.toSorted().at(0) ?? null;
}

/** One text, with commas in newer projects and with spaces in older ones. */
function keywordsOf(value: JsonValue | undefined): readonly string[] | null {
  const text = textMember(value);
  if (text === null) return null;
  return text.split(text.includes(',') ? ',' : /\s+/).flatMap((word) => textMember(word.trim()) ?? []);
}

/** Newer projects name their authors together with their addresses, which are not returned: `"A. Park" <park@example.com>`. */
function authorOf(name: JsonValue | undefined, mail: JsonValue | undefined): JsonObject | null {
  const names = (textMember(mail) ?? '').split(',').flatMap((one) => {
    const [before, address] = one.split('<');
    return address === undefined ? [] : (textMember((before ?? '').replaceAll('"', '').trim()) ?? []);
  });
  return schema.author(textMember(name) ?? textMember(names.join(', ')), null);
}

function linkNamed(links: JsonObject | null, name: string): JsonValue | undefined {
  return Object.entries(links ?? {}).find(([label]) => label.toLowerCase() === name)?.[1];
}

function pageOf(name: string): string {
  return `${BASE}/project/${encodeURIComponent(name)}/`;
}

function begin(input: JsonObject): ChainStart<Args> {
  return { kind: 'args', args: { project: givenText(input, 'package') } };
}

/** Source: "Names and normalization", "Name format". */
const INPUT = schema.inputSchema(
  {
    package: schema.nameInput('Name of the project.', '^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$', 200),
  },
  ['package'],
);
const EXAMPLE_FILES = [
  {
    name: 'kettle-2.0.0-py3-none-any.whl',
    url: 'https://files.pythonhosted.org/packages/d7/73/kettle-2.0.0-py3-none-any.whl',
    kind: 'bdist_wheel',
    bytes: 4661,
    sha256: 'c23e447ea90d796d1e645c35c4b2de125040add12a845825546f91c93f391b6b',
    published_at: '2024-04-18T14:00:00Z',
  },
];

export const pypi: Connector = {
  id: 'pypi',
  title: 'PyPI',
  description: 'Packages of the Python Package Index and their versions. The index has no search for programs.',
  docsUrl: 'https://docs.pypi.org/api/json/',
  hosts: [new URL(BASE).hostname],
  terms: {
    termsUrl: 'https://policies.python.org/pypi.org/Terms-of-Service/',
    attribution: null,
    ratePolicy: 'No key and no fixed limit. PyPI asks clients to name themselves and to send no bursts.',
  },
  operations: [
    chained<Args>({
      ...ONE_REQUEST,
      name: 'package.details',
      description: 'A project as its newest version describes it: one record. Addresses of e-mail are left out.',
      paging: 'One request.',
      input: INPUT,
      record: PACKAGE,
      example: {
        input: { package: 'kettle' },
        record: {
          id: 'kettle',
          url: 'https://pypi.org/project/kettle/',
          name: 'kettle',
          version: '2.0.0',
          description: 'A kettle that logs',
          license: 'MIT',
          keywords: ['tea', 'kitchen'],
          homepage_url: 'https://kettle.example/',
          text: '# Kettle',
          text_type: 'text/markdown',
          author: { name: 'Mira', url: null },
          links: [{ name: 'Source', url: 'https://git.example.org/tea/kettle' }],
          classifiers: ['Programming Language :: Python :: 3'],
          python_versions: '>=3.9',
          dependencies: ['whistle>=1.2'],
          published_at: '2024-04-18T14:00:00Z',
          is_yanked: false,
          yanked_reason: null,
          files: EXAMPLE_FILES,
        },
      },
      begin,
      read: readPackage,
    }),
    chained<Args>({
      ...ONE_REQUEST,
      name: 'package.versions',
      description: 'All versions of a project, the newest first.',
      paging: 'One request, which gives all versions and so the total.',
      input: INPUT,
      record: VERSION,
      example: {
        input: { package: 'kettle' },
        record: {
          id: 'kettle==2.0.0',
          url: 'https://pypi.org/project/kettle/2.0.0/',
          name: 'kettle',
          version: '2.0.0',
          published_at: '2024-04-18T14:00:00Z',
          python_versions: '>=3.9',
          is_yanked: false,
          yanked_reason: null,
          files: EXAMPLE_FILES,
        },
      },
      begin,
      read: readVersions,
    }),
  ],
};
