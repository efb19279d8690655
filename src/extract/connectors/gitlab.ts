import type { Connector, FoundRecord, JsonObject, JsonValue, Operation, Source } from '../base/connector.ts';
import { isoDate } from '../read/dates.ts';
import { address } from './kit/api-address.ts';
import { chained, type ChainStart, type ChainTurn, type PageResult } from './kit/chain.ts';
import { ISSUE_FIELDS, ISSUE_STATE, RELEASE_FIELDS, REPOSITORY_FIELDS } from './kit/code-hosts.ts';
import { dateGiven } from './kit/date-input.ts';
import { at, flagOf, givenText, idOf, integerOf, itemsOf, textMember, textsOf, urlOf } from './kit/json.ts';
import { readLinkedPage, type LinkedApi, type LinkedArgs } from './kit/linked-pages.ts';
import { recordOf } from './kit/record.ts';
import * as schema from './kit/schema.ts';
import { beginAt } from './kit/sites.ts';

/** Source: "REST API", "Pagination", `per_page`. */
const PAGE_SIZE_MAX = 100;
const API: LinkedApi = {
  root: ['api', 'v4'],
  sizeName: 'per_page',
  // The lists by number have `page`, those by keyset one of the others.
  cursorNames: ['page', 'id_before', 'id_after', 'cursor'],
  totalHeader: 'x-total',
};

const AUTHOR = schema.authorField('The account; its name is that which people see.');
const PROJECT = schema.recordSchema({
  id: schema.idField('Number of the project on its server.'),
  url: schema.urlField('The project.'),
  ...schema.without(REPOSITORY_FIELDS, 'homepage_url', 'language', 'license', 'is_fork', 'pushed_at'),
  full_name: schema.textField('`group/name`, with all groups.'),
  open_issues: schema.countField('Number of open issues; null where GitLab shows it only to members.'),
  is_archived: schema.flagField('Whether it is read-only; null where GitLab shows it only to members.'),
  updated_at: schema.dateField('Time of the last activity in it.'),
});
const ISSUE = schema.recordSchema({
  id: schema.idField('Number of the issue, unique on its server.'),
  url: schema.urlField('The issue.'),
  ...schema.without(ISSUE_FIELDS, 'state_reason', 'is_pull_request'),
  number: schema.countField('Number of the issue in its project.'),
  author: AUTHOR,
  kind: schema.textField('For example `issue`, `incident` or `task`.'),
});
const RELEASE = schema.recordSchema({
  id: schema.idField('The tag from which it was made.'),
  url: schema.urlField('The release.'),
  ...schema.without(RELEASE_FIELDS, 'is_prerelease'),
  author: AUTHOR,
  is_upcoming: schema.flagField('Whether its date is still to come.'),
  created_at: schema.dateField('When it was created.'),
  assets: schema.objectsField('Linked files. The archives of the source are not among them.', {
    name: schema.textField('Name of the link.'),
    url: schema.urlField('The file.'),
    kind: schema.textField('`other`, `runbook`, `image` or `package`.'),
  }),
});

function readProject(item: JsonObject): FoundRecord | null {
  return recordOf(idOf(item['id']), urlOf(item['web_url']), {
    name: textMember(item['name']),
    full_name: textMember(item['path_with_namespace']),
    description: textMember(item['description']),
    // Older servers call them tags.
    topics: textsOf(item['topics']) ?? textsOf(item['tag_list']),
    stars: integerOf(item['star_count']),
    forks: integerOf(item['forks_count']),
    open_issues: integerOf(item['open_issues_count']),
    is_archived: flagOf(item['archived']),
    default_branch: textMember(item['default_branch']),
    created_at: isoDate(item['created_at']),
    updated_at: isoDate(item['last_activity_at']),
  });
}

function readIssue(item: JsonObject): FoundRecord | null {
  const state = textMember(item['state']);
  return recordOf(idOf(item['id']), urlOf(item['web_url']), {
    number: integerOf(item['iid']),
    title: textMember(item['title']),
    text: textMember(item['description']),
    author: readUser(item['author']),
    state: state === 'opened' ? 'open' : state,
    labels: textsOf(item['labels']),
    assignees: textsOf(item['assignees'], (person) => textMember(at(person, 'username'))),
    milestone: textMember(at(item, 'milestone', 'title')),
    comments: integerOf(item['user_notes_count']),
    published_at: isoDate(item['created_at']),
    updated_at: isoDate(item['updated_at']),
    closed_at: isoDate(item['closed_at']),
    kind: textMember(item['issue_type']),
  });
}

/** A release has no number; its tag is unique in its project. Older servers do not say where it is. */
function readRelease(item: JsonObject, { site, path }: LinkedArgs): FoundRecord | null {
  const tag = textMember(item['tag_name']);
  if (tag === null || /^\.+$/.test(tag)) return null;
  const project = (path[1] ?? '').split('/');
  const links = at(item, 'assets', 'links');
  return recordOf(tag, urlOf(at(item, '_links', 'self')) ?? address(site, [...project, '-', 'releases', tag]), {
    title: textMember(item['name']),
    tag,
    text: textMember(item['description']),
    author: readUser(item['author']),
    published_at: isoDate(item['released_at']),
    created_at: isoDate(item['created_at']),
    assets: Array.isArray(links) ? itemsOf(links).map(readAsset) : null,
    is_upcoming: flagOf(item['upcoming_release']),
  });
}

function readAsset(asset: JsonValue): JsonObject {
  return {
    name: textMember(at(asset, 'name')),
    url: urlOf(at(asset, 'url')),
    kind: textMember(at(asset, 'link_type')),
  };
}

function readUser(value: JsonValue | undefined): JsonObject | null {
  return schema.author(textMember(at(value, 'name')) ?? textMember(at(value, 'username')), urlOf(at(value, 'web_url')));
}

function begin(input: JsonObject, path: readonly string[], query: LinkedArgs['query'] = {}): ChainStart<LinkedArgs> {
  return beginAt(input, (site) => ({ site, path, query }));
}

function beginIssues(input: JsonObject): ChainStart<LinkedArgs> {
  const since = dateGiven(input, 'updated_after');
  if (since.kind === 'fault') return since;
  const state = textMember(input['state']) ?? 'all';
  return begin(input, ['projects', givenText(input, 'project'), 'issues'], {
    state: state === 'open' ? 'opened' : state,
    updated_after: since.iso,
    order_by: 'created_at',
    sort: 'desc',
  });
}

function readProjects(turn: ChainTurn<LinkedArgs>, source: Source): Promise<PageResult<LinkedArgs>> {
  return readLinkedPage(API, turn, source, readProject);
}

const NAME = '[A-Za-z0-9_.-]*[A-Za-z0-9_-]';
const SERVER = schema.siteInput('Host name or URL of the server, for example `gitlab.com`.');
const PROJECT_PATH = schema.nameInput(
  'Path of the project with its groups, for example `group/project`.',
  `^${NAME}(?:/${NAME})+$`,
  500,
);
const EXAMPLE_AUTHOR = { name: 'Mira', url: 'https://gitlab.example.org/mira' };
const EXAMPLE_PROJECT = {
  id: '7001',
  url: 'https://gitlab.example.org/tea/kettle',
  name: 'kettle',
  full_name: 'tea/kettle',
  description: 'A kettle that logs',
  topics: ['tea'],
  stars: 41,
  forks: 3,
  open_issues: null,
  is_archived: null,
  default_branch: 'main',
  created_at: '2023-01-15T10:00:00Z',
  updated_at: '2024-05-01T12:00:00Z',
};
const COMMON = { tier: 'basic', pageSizeMax: PAGE_SIZE_MAX, sizing: 'fixed' } as const;
const PAGING =
  'By the `Link` header, 100 a page; the total is announced, except by some servers if it is above 10,000.';
const NEWEST_FIRST = { order_by: 'created_at', sort: 'desc' } as const;

const searchProjects: Operation = chained<LinkedArgs>({
  ...COMMON,
  name: 'search.projects',
  description: 'The public projects of a server that match the query, or all of them; the newest first.',
  paging: 'By the `Link` header, 100 a page; no total is announced.',
  input: schema.inputSchema(
    {
      site: SERVER,
      query: schema.queryInput('Words to look for in names, paths and descriptions; at least three characters each.'),
    },
    ['site'],
  ),
  record: PROJECT,
  example: { input: { site: 'gitlab.example.org', query: 'kettle' }, record: EXAMPLE_PROJECT },
  // Lists by number end at 50,000 projects; lists by keyset do not, and can only be sorted by id.
  begin: (input) =>
    begin(input, ['projects'], {
      search: textMember(input['query']),
      visibility: 'public',
      pagination: 'keyset',
      order_by: 'id',
      sort: 'desc',
    }),
  read: readProjects,
});

const groupProjects: Operation = chained<LinkedArgs>({
  ...COMMON,
  name: 'group.projects',
  description: 'The public projects of a group, the newest first, without those that others share with it.',
  paging: PAGING,
  input: schema.inputSchema(
    {
      site: SERVER,
      group: schema.nameInput('Path of the group, for example `group/subgroup`.', `^${NAME}(?:/${NAME})*$`, 500),
      with_subgroups: schema.flagInput('Includes the projects of all groups within it.'),
    },
    ['site', 'group'],
  ),
  record: PROJECT,
  example: {
    input: { site: 'gitlab.example.org', group: 'tea' },
    record: { ...EXAMPLE_PROJECT, open_issues: 5, is_archived: false },
  },
  begin: (input) =>
    begin(input, ['groups', givenText(input, 'group'), 'projects'], {
      include_subgroups: input['with_subgroups'] === true,
      with_shared: false,
      ...NEWEST_FIRST,
    }),
  read: readProjects,
});

const userProjects: Operation = chained<LinkedArgs>({
  ...COMMON,
  name: 'user.projects',
  description: 'The public projects of an account, the newest first.',
  paging: PAGING,
  input: schema.inputSchema({ site: SERVER, user: schema.nameInput('Name of the account.', `^${NAME}$`, 255) }, [
    'site',
    'user',
  ]),
  record: PROJECT,
  example: { input: { site: 'gitlab.example.org', user: 'mira' }, record: EXAMPLE_PROJECT },
  begin: (input) => begin(input, ['users', givenText(input, 'user'), 'projects'], NEWEST_FIRST),
  read: readProjects,
});

const projectIssues: Operation = chained<LinkedArgs>({
  ...COMMON,
  name: 'project.issues',
  description: 'The public issues of a project, the newest first. Merge requests are not among them.',
  paging: PAGING,
  input: schema.inputSchema(
    {
      site: SERVER,
      project: PROJECT_PATH,
      state: ISSUE_STATE,
      updated_after: schema.dateInput('Only issues that changed after this time.'),
    },
    ['site', 'project'],
  ),
  record: ISSUE,
  example: {
    input: { site: 'gitlab.example.org', project: 'tea/kettle', state: 'open' },
    record: {
      id: '88001',
      url: 'https://gitlab.example.org/tea/kettle/-/issues/12',
      number: 12,
      title: 'It whistles twice',
      text: 'Since **2.0** it whistles twice.',
      author: EXAMPLE_AUTHOR,
      state: 'open',
      labels: ['bug'],
      assignees: ['noor'],
      milestone: '2.1',
      comments: 4,
      published_at: '2024-04-20T09:00:00Z',
      updated_at: '2024-04-22T16:40:00Z',
      closed_at: null,
      kind: 'issue',
    },
  },
  begin: beginIssues,
  read: (turn, source) => readLinkedPage(API, turn, source, readIssue),
});

const projectReleases: Operation = chained<LinkedArgs>({
  ...COMMON,
  name: 'project.releases',
  description: 'The releases of a project, those with the latest date first.',
  paging: PAGING,
  input: schema.inputSchema({ site: SERVER, project: PROJECT_PATH }, ['site', 'project']),
  record: RELEASE,
  example: {
    input: { site: 'gitlab.example.org', project: 'tea/kettle' },
    record: {
      id: 'v2.0.0',
      url: 'https://gitlab.example.org/tea/kettle/-/releases/v2.0.0',
      title: 'Kettle 2.0',
      tag: 'v2.0.0',
      text: 'It whistles.',
      author: EXAMPLE_AUTHOR,
      published_at: '2024-04-18T14:00:00Z',
      created_at: '2024-04-18T13:30:00Z',
      assets: [{ name: 'kettle.tgz', url: 'https://downloads.example.org/kettle.tgz', kind: 'package' }],
      is_upcoming: false,
    },
  },
  begin: (input) => begin(input, ['projects', givenText(input, 'project'), 'releases']),
  read: (turn, source) => readLinkedPage(API, turn, source, (item) => readRelease(item, turn.args)),
});

export const gitlab: Connector = {
  id: 'gitlab',
  title: 'GitLab',
  description: 'Public projects, issues and releases on GitLab.com and on any server that runs GitLab.',
  docsUrl: 'https://docs.gitlab.com/api/rest/',
  terms: {
    termsUrl: null,
    attribution: null,
    ratePolicy:
      'GitLab.com allows 500 requests a minute from one address without a key; other servers set their own limits. When they are used up, the job waits for the next window.',
  },
  operations: [searchProjects, groupProjects, userProjects, projectIssues, projectReleases],
};
