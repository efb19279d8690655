import type { JsonObject } from '../../src/extract/base/connector.ts';
import { json, type SourceCase, type World } from './source-case.ts';

/** The Python Package Index. Shapes: docs.pypi.org, "JSON API", "Get a project". */
export function pypiWorld(records: number): World {
  return ({ url: text }) =>
    records > 0 && new URL(text).pathname === '/pypi/kettle/json'
      ? json(project(records), { 'x-pypi-last-serial': '25862117' })
      : json({ message: 'Not Found' }, {}, 404);
}

const versionAt = (place: number): string => `1.${place}`;

function project(records: number): JsonObject {
  const places = [...Array.from({ length: records }).keys()];
  return {
    info: INFO,
    last_serial: 25_862_117,
    releases: Object.fromEntries(places.map((place) => [versionAt(place), filesAt(place)])),
    urls: filesAt(records === 1 ? 1 : records - 1),
    vulnerabilities: [],
  };
}

const INFO = {
  author: '',
  author_email: '"Mira Quist" <mira@example.com>, Noor <noor@example.com>',
  bugtrack_url: null,
  classifiers: ['Programming Language :: Python :: 3'],
  description: '# Kettle',
  description_content_type: 'text/markdown',
  docs_url: null,
  download_url: '',
  downloads: { last_day: -1, last_month: -1, last_week: -1 },
  dynamic: null,
  home_page: '',
  keywords: 'tea, kitchen',
  license: `Permission is hereby granted ${'to all '.repeat(30)}`,
  license_expression: null,
  maintainer: '',
  maintainer_email: '',
  name: 'Kettle',
  package_url: 'https://pypi.org/project/Kettle/',
  platform: null,
  project_url: 'https://pypi.org/project/Kettle/',
  project_urls: { Homepage: 'https://kettle.example/', Source: 'https://git.example.org/tea/kettle' },
  release_url: 'https://pypi.org/project/Kettle/1.0/',
  requires_dist: ['whistle>=1.2', "steam ; extra == 'hot'"],
  requires_python: '>=3.9',
  summary: 'A kettle that logs',
  version: '1.0',
  yanked: false,
  yanked_reason: null,
};

/** The first version has no files, as old ones may; each third one was yanked, and one file of each third one after it. */
function filesAt(place: number): readonly JsonObject[] {
  if (place === 0) return [];
  return [10, 5].map((minute) => {
    const isYanked = place % 3 === 2 || (place % 3 === 0 && minute === 10);
    return {
      comment_text: '',
      digests: {
        md5: 'bab8eb22e6710eddae3c6c7ac3453bd9',
        sha256: '7a7a8b91086deccc54cac8d631e33f6a0e232ce5775c6be3dc44f86c2154019d',
      },
      downloads: -1,
      filename: `kettle-${versionAt(place)}-${minute}.whl`,
      has_sig: false,
      packagetype: 'bdist_wheel',
      python_version: 'py3',
      requires_python: '>=3.9',
      size: 3795,
      upload_time: new Date(Date.UTC(1990, place, 1, 0, minute)).toISOString().slice(0, 19),
      upload_time_iso_8601: new Date(Date.UTC(1990, place, 1, 0, minute)).toISOString(),
      url: `https://files.pythonhosted.org/packages/30/52/kettle-${versionAt(place)}-${minute}.whl`,
      yanked: isYanked,
      yanked_reason: isYanked ? 'It leaks' : null,
    };
  });
}

const COMMON = {
  connector: 'pypi',
  world: pypiWorld,
  paging: 'none',
  sizeAsked: null,
  hostIn: null,
  announcesTotal: true,
  emptyIsMissing: true,
  input: { package: 'kettle' },
} as const;

export const pypiCases: readonly SourceCase[] = [
  { ...COMMON, operation: 'package.details', recordsMax: 1 },
  { ...COMMON, operation: 'package.versions' },
];
