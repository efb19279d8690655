import type { JsonObject, JsonValue } from '../../src/extract/base/connector.ts';
import { json, many, numberIn, sizeIn, type SourceCase, type World } from './source-case.ts';

const SITE = 'https://git.example.org';

/**
 * A Gitea or Forgejo server. Shapes: the API's Swagger document, "repoSearch", "orgListRepos", "userListRepos", "issueListIssues",
 * "repoListReleases"; paging: "API usage", "Pagination", with `Link` and `X-Total-Count`. `sizeMax`: MAX_RESPONSE_ITEMS of the server.
 */
export function giteaWorld(records: number, { folder = '', sizeMax = 50 } = {}): World {
  return ({ url: text }) => {
    const url = new URL(text);
    const path = url.pathname.replace(folder, '');
    const list = LISTS.get(path);
    if (list === undefined)
      return json({ message: 'GetUserByName', url: `${SITE}/api/swagger`, errors: null }, {}, 404);
    // Each second issue is a pull request.
    const isOnlyIssues = path.endsWith('/issues') && url.searchParams.get('type') === 'issues';
    const all = many(isOnlyIssues ? records * 2 : records, list).filter(
      (item) => !isOnlyIssues || item['pull_request'] === null,
    );
    const size = Math.min(sizeMax, numberIn(url, 'limit', 30));
    const page = numberIn(url, 'page', 1);
    const items = all.slice((page - 1) * size, page * size);
    const headers = { 'x-total-count': String(all.length), ...linkOf(url, page, Math.ceil(all.length / size)) };
    return json(path.endsWith('/search') ? { ok: true, data: items } : items, headers);
  };
}

/** A list of one page has no header. */
function linkOf(url: URL, page: number, pages: number): Readonly<Record<string, string>> {
  const to = (rel: string, number: number): string => {
    const target = new URL(url);
    target.searchParams.set('page', String(number));
    return `<${target.href}>; rel="${rel}"`;
  };
  const links = [
    ...(page < pages ? [to('next', page + 1), to('last', pages)] : []),
    ...(page > 1 ? [to('first', 1), to('prev', page - 1)] : []),
  ];
  return links.length === 0 ? {} : { link: links.join(',') };
}

const MIRA = { id: 4, login: 'mira', full_name: 'Mira', email: 'mira@noreply.example.org', html_url: `${SITE}/mira` };

function repository(place: number): JsonObject {
  return {
    id: 7001 + place,
    owner: { ...MIRA, login: 'tea' },
    name: `kettle-${place}`,
    full_name: `tea/kettle-${place}`,
    description: '',
    empty: false,
    private: false,
    fork: false,
    mirror: false,
    size: 120,
    language: place % 2 === 0 ? 'Go' : '',
    html_url: `${SITE}/tea/kettle-${place}`,
    website: '',
    stars_count: 41,
    forks_count: 3,
    open_issues_count: 5,
    open_pr_counter: 1,
    default_branch: 'main',
    archived: false,
    created_at: '2023-01-15T11:00:00+01:00',
    updated_at: '2024-05-01T12:00:00Z',
    archived_at: '1970-01-01T00:00:00Z',
    topics: ['tea'],
    ...(place % 2 === 0 && { licenses: ['MIT'] }),
  };
}

function issue(place: number): JsonObject {
  const isPull = place % 2 === 1;
  return {
    id: 88_001 + place,
    url: `${SITE}/api/v1/repos/tea/kettle/issues/${place + 1}`,
    html_url: `${SITE}/tea/kettle/${isPull ? 'pulls' : 'issues'}/${place + 1}`,
    number: place + 1,
    user: MIRA,
    original_author: place % 4 === 2 ? 'noor' : '',
    original_author_id: 0,
    title: 'It whistles twice',
    body: 'Since **2.0**.',
    ref: '',
    labels: [{ id: 1, name: 'bug', color: 'ff0000' }],
    milestone: null,
    assignee: null,
    assignees: null,
    state: 'open',
    is_locked: false,
    comments: 4,
    created_at: '2024-04-20T09:00:00Z',
    updated_at: '2024-04-22T16:40:00Z',
    closed_at: null,
    due_date: null,
    pull_request: isPull ? { merged: false, merged_at: null, draft: false } : (null as JsonValue),
  };
}

function release(place: number): JsonObject {
  return {
    id: 9301 + place,
    tag_name: `v${place}`,
    target_commitish: 'main',
    name: '',
    body: 'It whistles.',
    html_url: `${SITE}/tea/kettle/releases/tag/v${place}`,
    draft: false,
    prerelease: false,
    created_at: '2024-04-18T14:00:00Z',
    published_at: '2024-04-18T14:00:00Z',
    author: MIRA,
    assets: [
      {
        id: 1,
        name: 'kettle.tgz',
        size: 120_400,
        download_count: 310,
        uuid: 'a0a0a0a0-0000-4000-8000-000000000000',
        browser_download_url: `${SITE}/tea/kettle/releases/download/v0/kettle.tgz`,
      },
    ],
  };
}

const LISTS: ReadonlyMap<string, (place: number) => JsonObject> = new Map([
  ['/api/v1/repos/search', repository],
  ['/api/v1/orgs/tea/repos', repository],
  ['/api/v1/users/mira/repos', repository],
  ['/api/v1/repos/tea/kettle/issues', issue],
  ['/api/v1/repos/tea/kettle/releases', release],
]);

const COMMON = {
  connector: 'gitea',
  world: (records: number) => giteaWorld(records),
  paging: 'cursor',
  sizeAsked: sizeIn('limit'),
  hostIn: 'site',
  announcesTotal: true,
} as const;

export const giteaCases: readonly SourceCase[] = [
  { ...COMMON, operation: 'search.repos', input: { site: 'git.example.org', query: 'kettle' } },
  { ...COMMON, operation: 'org.repos', input: { site: SITE, org: 'tea' } },
  { ...COMMON, operation: 'user.repos', input: { site: SITE, user: 'mira' } },
  {
    ...COMMON,
    operation: 'repo.issues',
    input: { site: SITE, owner: 'tea', repo: 'kettle', updated_after: '2024-01-01T00:00:00Z' },
  },
  { ...COMMON, operation: 'repo.releases', input: { site: SITE, owner: 'tea', repo: 'kettle' } },
];
