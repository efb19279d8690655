import type { JsonObject } from '../../src/extract/base/connector.ts';
import { json, many, numberIn, sizeIn, type SourceCase, type World } from './source-case.ts';

/**
 * GitHub's REST API. Shapes: docs.github.com/rest, "List organization repositories", "List repository issues" (pull requests among
 * them), "List releases"; paging: "Using pagination in the REST API", whose links go by numbers and not by names; limits: "Rate
 * limits for the REST API".
 */
export function githubWorld(records: number): World {
  return ({ url: text, headers: asked }) => {
    const url = new URL(text);
    if (asked['accept'] !== 'application/vnd.github+json') return json({ message: 'Unsupported' }, {}, 415);
    const list = LISTS.get(url.pathname);
    if (list === undefined) return json({ message: 'Not Found' }, {}, 404);
    const all = list.of(records);
    const size = Math.min(100, numberIn(url, 'per_page', 30));
    const page = numberIn(url, 'page', 1);
    const link = `<https://api.github.com${list.link}?per_page=${size}&page=${page + 1}>; rel="next", <https://api.github.com${list.link}?page=9>; rel="last"`;
    const headers = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '50', date: 'Thu, 02 May 2024 08:00:00 GMT' };
    const items = all.slice((page - 1) * size, page * size);
    return json(items, page * size < all.length ? { ...headers, link } : headers);
  };
}

const LISTS: ReadonlyMap<string, { readonly link: string; readonly of: (records: number) => readonly JsonObject[] }> =
  new Map([
    ['/orgs/example-tea/repos', { link: '/organizations/9/repos', of: (records) => many(records, repository) }],
    // Each second one is a pull request, which is not counted as a record.
    ['/repos/example-tea/kettle/issues', { link: '/repositories/7/issues', of: (records) => many(records * 2, issue) }],
    [
      '/repos/example-tea/kettle/releases',
      { link: '/repositories/7/releases', of: (records) => many(records, release) },
    ],
  ]);

function repository(place: number): JsonObject {
  return {
    id: 7001 + place,
    name: `kettle-${place}`,
    full_name: `example-tea/kettle-${place}`,
    owner: { login: 'example-tea', id: 9 },
    private: false,
    html_url: `https://github.com/example-tea/kettle-${place}`,
    description: null,
    fork: false,
    created_at: '2023-01-15T10:00:00Z',
    updated_at: '2024-05-01T12:00:00Z',
    pushed_at: '2024-05-01T11:58:00Z',
    homepage: '',
    stargazers_count: 41,
    language: 'TypeScript',
    forks_count: 3,
    archived: false,
    open_issues_count: 5,
    license: { key: 'apache-2.0', name: 'Apache License 2.0', spdx_id: 'Apache-2.0' },
    topics: ['tea'],
    default_branch: 'main',
  };
}

function issue(place: number): JsonObject {
  const pull =
    place % 2 === 1 ? { pull_request: { url: 'https://api.github.com/repos/example-tea/kettle/pulls/1' } } : {};
  return {
    id: 88_001 + place,
    number: place + 1,
    html_url: `https://github.com/example-tea/kettle/issues/${place + 1}`,
    state: 'open',
    state_reason: null,
    title: 'It whistles twice',
    body: 'Since **2.0**.',
    user: { login: 'mira', id: 4, html_url: 'https://github.com/mira' },
    labels: [{ id: 1, name: 'bug', color: 'f00' }],
    assignees: [{ login: 'noor', id: 5 }],
    milestone: { title: '2.1', number: 3 },
    comments: 4,
    created_at: '2024-04-20T09:00:00Z',
    updated_at: '2024-04-22T16:40:00Z',
    closed_at: null,
    ...pull,
  };
}

function release(place: number): JsonObject {
  return {
    id: 9301 + place,
    html_url: `https://github.com/example-tea/kettle/releases/tag/v${place}`,
    tag_name: `v${place}`,
    name: null,
    body: 'It whistles.',
    draft: false,
    prerelease: false,
    created_at: '2024-04-18T13:30:00Z',
    published_at: '2024-04-18T14:00:00Z',
    author: { login: 'mira', html_url: 'https://github.com/mira' },
    assets: [
      {
        name: 'kettle.tgz',
        size: 120_400,
        download_count: 310,
        browser_download_url: 'https://github.com/example-tea/kettle/releases/download/v0/kettle.tgz',
      },
    ],
  };
}

const COMMON = {
  connector: 'github',
  world: githubWorld,
  paging: 'cursor',
  sizeAsked: sizeIn('per_page'),
  hostIn: null,
  announcesTotal: false,
} as const;

export const githubCases: readonly SourceCase[] = [
  { ...COMMON, operation: 'org.repos', input: { org: 'example-tea' } },
  {
    ...COMMON,
    operation: 'repo.issues',
    input: { owner: 'example-tea', repo: 'kettle', updated_after: '2024-01-01T00:00:00Z' },
  },
  { ...COMMON, operation: 'repo.releases', input: { owner: 'example-tea', repo: 'kettle' } },
];
