import type { JsonObject } from '../../src/extract/base/connector.ts';
import { json, many, numberIn, sizeIn, type SourceCase, type World } from './source-case.ts';

const SITE = 'https://gitlab.example.org';
const NEWEST = 90_000;

/**
 * A GitLab server. Shapes: docs.gitlab.com/api, "Projects" (without authentication only the fields of `simple`), "Groups" (list a group's
 * projects), "Issues", "Releases"; paging: "REST API", "Pagination", by number with `Link` and `X-Total` and by keyset with `Link` alone;
 * limits: "Rate limits", "Response headers".
 */
export function gitlabWorld(records: number, folder = ''): World {
  return ({ url: text }) => {
    const url = new URL(text);
    const path = url.pathname.replace(folder, '');
    if (path === '/api/v4/projects') return byKeyset(url, records);
    const item = LISTS.get(path);
    return item === undefined
      ? json({ message: '404 Project Not Found' }, {}, 404)
      : byNumber(url, many(records, item));
  };
}

function byKeyset(url: URL, records: number) {
  if (url.searchParams.get('order_by') !== 'id')
    return json({ error: 'Keyset pagination is not yet available' }, {}, 405);
  const size = Math.min(100, numberIn(url, 'per_page', 20));
  const before = numberIn(url, 'id_before', Infinity);
  const items = many(records, simpleProject)
    .filter(({ id }) => id < before)
    .slice(0, size);
  const next = new URL(url);
  next.searchParams.set('id_before', String(items.at(-1)?.id));
  // The list ends with an empty page that has no header.
  return json(items, items.length === 0 ? WINDOW : { ...WINDOW, link: `<${next.href}>; rel="next"` });
}

function byNumber(url: URL, all: readonly JsonObject[]) {
  const size = Math.min(100, numberIn(url, 'per_page', 20));
  const page = numberIn(url, 'page', 1);
  const pages = Math.max(1, Math.ceil(all.length / size));
  // The link goes by the project's number, and repeats all parameters and the number as one.
  const to = (rel: string, number: number): string =>
    `<${SITE}/api/v4/projects/9/x?id=9&${new URLSearchParams([...url.searchParams, ['page', String(number)]]).toString()}>; rel="${rel}"`;
  const link = [...(page < pages ? [to('next', page + 1)] : []), to('first', 1), to('last', pages)].join(', ');
  const headers = {
    ...WINDOW,
    link,
    'x-total': String(all.length),
    'x-next-page': page < pages ? String(page + 1) : '',
  };
  return json(all.slice((page - 1) * size, page * size), headers);
}

const WINDOW = {
  'ratelimit-limit': '500',
  'ratelimit-remaining': '499',
  'ratelimit-reset': '1714636860',
  date: 'Thu, 02 May 2024 08:00:00 GMT',
};

function simpleProject(place: number): JsonObject & { readonly id: number } {
  return {
    id: NEWEST - place,
    description: place % 2 === 0 ? 'A kettle that logs' : null,
    name: `Kettle ${place}`,
    name_with_namespace: `Tea / Kettle ${place}`,
    path: `kettle-${place}`,
    path_with_namespace: `tea/kettle-${place}`,
    created_at: '2023-01-15T10:00:00.000Z',
    default_branch: 'main',
    tag_list: ['tea'],
    topics: ['tea'],
    ssh_url_to_repo: `git@gitlab.example.org:tea/kettle-${place}.git`,
    http_url_to_repo: `${SITE}/tea/kettle-${place}.git`,
    web_url: `${SITE}/tea/kettle-${place}`,
    readme_url: null,
    forks_count: 3,
    avatar_url: null,
    star_count: 41,
    last_activity_at: '2024-05-01T12:00:00.000Z',
    namespace: { id: 5, name: 'Tea', path: 'tea', kind: 'group', full_path: 'tea', parent_id: null },
  };
}

function project(place: number): JsonObject {
  return { ...simpleProject(place), archived: false, visibility: 'public', open_issues_count: 5 };
}

const MIRA = {
  id: 4,
  username: 'mira',
  name: 'Mira',
  state: 'active',
  avatar_url: null,
  web_url: `${SITE}/mira`,
};

function issue(place: number): JsonObject {
  return {
    id: 88_001 + place,
    iid: place + 1,
    project_id: 9,
    title: 'It whistles twice',
    description: 'Since **2.0**.',
    state: place % 2 === 0 ? 'opened' : 'closed',
    created_at: '2024-04-20T09:00:00.000Z',
    updated_at: '2024-04-22T16:40:00.000Z',
    closed_at: null,
    closed_by: null,
    labels: ['bug'],
    milestone: place % 2 === 0 ? { id: 3, iid: 1, title: '2.1', state: 'active' } : null,
    assignees: [{ ...MIRA, username: 'noor' }],
    author: MIRA,
    type: 'ISSUE',
    issue_type: 'issue',
    user_notes_count: 4,
    upvotes: 0,
    downvotes: 0,
    due_date: null,
    confidential: false,
    web_url: `${SITE}/tea/kettle/-/issues/${place + 1}`,
  };
}

function release(place: number): JsonObject {
  return {
    tag_name: `v${place}`,
    name: `Kettle ${place}`,
    description: 'It whistles.',
    created_at: '2024-04-18T13:30:00.000Z',
    released_at: '2024-04-18T14:00:00.000Z',
    upcoming_release: false,
    author: MIRA,
    commit: { id: '079e90101242458910cccd35eab0e211dfc359c0', title: 'Whistle' },
    tag_path: `/tea/kettle/-/tags/v${place}`,
    assets: {
      count: 5,
      sources: [{ format: 'zip', url: `${SITE}/tea/kettle/-/archive/v${place}/kettle.zip` }],
      links: [{ id: 2, name: 'kettle.tgz', url: 'https://downloads.example.org/kettle.tgz', link_type: 'package' }],
    },
    evidences: [],
    // Older servers have none.
    ...(place % 2 === 0 && { _links: { self: `${SITE}/tea/kettle/-/releases/v${place}` } }),
  };
}

const LISTS: ReadonlyMap<string, (place: number) => JsonObject> = new Map([
  ['/api/v4/groups/tea%2Fpots/projects', project],
  ['/api/v4/users/mira/projects', simpleProject],
  ['/api/v4/projects/tea%2Fkettle/issues', issue],
  ['/api/v4/projects/tea%2Fkettle/releases', release],
]);

const COMMON = {
  connector: 'gitlab',
  world: gitlabWorld,
  paging: 'cursor',
  sizeAsked: sizeIn('per_page'),
  hostIn: 'site',
  announcesTotal: true,
} as const;

export const gitlabCases: readonly SourceCase[] = [
  {
    ...COMMON,
    operation: 'search.projects',
    input: { site: 'gitlab.example.org', query: 'kettle' },
    announcesTotal: false,
  },
  { ...COMMON, operation: 'group.projects', input: { site: SITE, group: 'tea/pots', with_subgroups: true } },
  { ...COMMON, operation: 'user.projects', input: { site: SITE, user: 'mira' } },
  {
    ...COMMON,
    operation: 'project.issues',
    input: { site: SITE, project: 'tea/kettle', state: 'open', updated_after: '2024-01-01' },
  },
  { ...COMMON, operation: 'project.releases', input: { site: SITE, project: 'tea/kettle' } },
];
