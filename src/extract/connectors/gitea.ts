import type { Connector, FoundRecord, JsonObject, Operation, Source } from '../base/connector.ts';
import { chained, type ChainStart, type ChainTurn, type PageResult } from './kit/chain.ts';
import {
  ISSUE_FIELDS,
  ISSUE_STATE,
  readGithubIssue,
  readGithubRelease,
  readGithubRepository,
  RELEASE_FIELDS,
  REPOSITORY_FIELDS,
} from './kit/code-hosts.ts';
import { dateGiven } from './kit/date-input.ts';
import { at, givenText, idOf, textMember, textsOf, urlOf } from './kit/json.ts';
import { readLinkedPage, type LinkedApi, type LinkedArgs } from './kit/linked-pages.ts';
import { recordOf } from './kit/record.ts';
import * as schema from './kit/schema.ts';
import { beginAt } from './kit/sites.ts';

/** Source: `MAX_RESPONSE_ITEMS` of the section `api`, whose default is 50. A server that allows fewer sends smaller pages. */
const PAGE_SIZE_MAX = 50;
const API: LinkedApi = {
  root: ['api', 'v1'],
  sizeName: 'limit',
  cursorNames: ['page'],
  totalHeader: 'x-total-count',
};
/** The search puts its items into an object. */
const SEARCH: LinkedApi = { ...API, itemsIn: (body) => at(body, 'data') };

const REPOSITORY = schema.recordSchema({
  id: schema.idField('Number of the repository on its server.'),
  url: schema.urlField('The repository.'),
  ...schema.without(REPOSITORY_FIELDS, 'license', 'pushed_at'),
  licenses: schema.textsField('SPDX identifiers; null on servers that do not look for them.'),
});
const ISSUE = schema.recordSchema({
  id: schema.idField('Number of the issue, unique on its server.'),
  url: schema.urlField('The issue.'),
  ...schema.without(ISSUE_FIELDS, 'state_reason'),
  author: schema.authorField('The account; of an issue that was moved here, the name of its first author.'),
});
const RELEASE = schema.recordSchema({
  id: schema.idField('Number of the release on its server.'),
  url: schema.urlField('The release.'),
  ...RELEASE_FIELDS,
});

function readRepository(item: JsonObject): FoundRecord | null {
  return recordOf(idOf(item['id']), urlOf(item['html_url']), {
    ...readGithubRepository(item, { homepage: 'website', stars: 'stars_count' }),
    licenses: textsOf(item['licenses']),
  });
}

function readIssue(item: JsonObject): FoundRecord | null {
  const { state_reason: _, ...fields } = readGithubIssue(item);
  // The account of an issue that was moved from another host is that of the person who moved it.
  const first = textMember(item['original_author']);
  const author = first === null ? fields['author'] : schema.author(first, null);
  return recordOf(idOf(item['id']), urlOf(item['html_url']), { ...fields, author: author ?? null });
}

function readRelease(item: JsonObject): FoundRecord | null {
  return recordOf(idOf(item['id']), urlOf(item['html_url']), readGithubRelease(item));
}

function begin(input: JsonObject, path: readonly string[], query: LinkedArgs['query'] = {}): ChainStart<LinkedArgs> {
  return beginAt(input, (site) => ({ site, path, query }));
}

function beginIssues(input: JsonObject): ChainStart<LinkedArgs> {
  const since = dateGiven(input, 'updated_after');
  if (since.kind === 'fault') return since;
  return begin(input, repositoryPath(input, 'issues'), {
    state: textMember(input['state']) ?? 'all',
    type: input['with_pull_requests'] === true ? null : 'issues',
    since: since.iso,
  });
}

function repositoryPath(input: JsonObject, list: string): readonly string[] {
  return ['repos', givenText(input, 'owner'), givenText(input, 'repo'), list];
}

const NAME = '^(?!\\.{1,2}$)[A-Za-z0-9._-]+$';
const SERVER = schema.siteInput('Host name or URL of the server, for example `codeberg.org`.');
const OWNER = schema.nameInput('Login of the account or organisation.', NAME, 100);
const EXAMPLE_AUTHOR = { name: 'mira', url: 'https://git.example.org/mira' };
const EXAMPLE_REPOSITORY = {
  id: '7001',
  url: 'https://git.example.org/tea/kettle',
  name: 'kettle',
  full_name: 'tea/kettle',
  description: 'A kettle that logs',
  homepage_url: 'https://kettle.example/',
  language: 'Go',
  topics: ['tea'],
  stars: 41,
  forks: 3,
  open_issues: 5,
  is_fork: false,
  is_archived: false,
  default_branch: 'main',
  created_at: '2023-01-15T10:00:00Z',
  updated_at: '2024-05-01T12:00:00Z',
  licenses: ['MIT'],
};
const COMMON = {
  tier: 'basic',
  pageSizeMax: PAGE_SIZE_MAX,
  sizing: 'fixed',
  paging: 'By the `Link` header, 50 a page or what the server allows; the total is announced.',
} as const;

function repositories(told: {
  readonly name: string;
  readonly description: string;
  /** Name of the input that names the owner. */
  readonly owner: 'org' | 'user';
  readonly path: string;
}): Operation {
  const { owner, path, ...named } = told;
  return chained<LinkedArgs>({
    ...COMMON,
    ...named,
    input: schema.inputSchema({ site: SERVER, [owner]: OWNER }, ['site', owner]),
    record: REPOSITORY,
    example: { input: { site: 'git.example.org', [owner]: 'tea' }, record: EXAMPLE_REPOSITORY },
    begin: (input) => begin(input, [path, givenText(input, owner), 'repos']),
    read: (turn, source) => readLinkedPage(API, turn, source, readRepository),
  });
}

function readSearch(turn: ChainTurn<LinkedArgs>, source: Source): Promise<PageResult<LinkedArgs>> {
  return readLinkedPage(SEARCH, turn, source, readRepository);
}

export const gitea: Connector = {
  id: 'gitea',
  title: 'Gitea and Forgejo',
  description: 'Public repositories, issues and releases on any server that runs Gitea or Forgejo, such as Codeberg.',
  docsUrl: 'https://docs.gitea.com/development/api-usage',
  terms: {
    termsUrl: null,
    attribution: null,
    ratePolicy: 'Servers set their own limits; many set none. Servers that demand a login respond with 401 or 403.',
  },
  operations: [
    chained<LinkedArgs>({
      ...COMMON,
      name: 'search.repos',
      description: 'The public repositories of a server whose names match the query, or all of them; the newest first.',
      input: schema.inputSchema({ site: SERVER, query: schema.queryInput('Words to look for.') }, ['site']),
      record: REPOSITORY,
      example: { input: { site: 'git.example.org', query: 'kettle' }, record: EXAMPLE_REPOSITORY },
      begin: (input) =>
        begin(input, ['repos', 'search'], { q: textMember(input['query']), sort: 'created', order: 'desc' }),
      read: readSearch,
    }),
    repositories({
      name: 'org.repos',
      description: 'The public repositories of an organisation.',
      owner: 'org',
      path: 'orgs',
    }),
    repositories({
      name: 'user.repos',
      description: 'The public repositories of an account.',
      owner: 'user',
      path: 'users',
    }),
    chained<LinkedArgs>({
      ...COMMON,
      name: 'repo.issues',
      description: 'The issues of a repository, the newest first; pull requests only if requested.',
      input: schema.inputSchema(
        {
          site: SERVER,
          owner: OWNER,
          repo: schema.nameInput('Name of the repository.', NAME, 100),
          state: ISSUE_STATE,
          updated_after: schema.dateInput('Only issues that changed after this time.'),
          with_pull_requests: schema.flagInput('Includes pull requests.'),
        },
        ['site', 'owner', 'repo'],
      ),
      record: ISSUE,
      example: {
        input: { site: 'git.example.org', owner: 'tea', repo: 'kettle', state: 'open' },
        record: {
          id: '88001',
          url: 'https://git.example.org/tea/kettle/issues/12',
          number: 12,
          title: 'It whistles twice',
          text: 'Since **2.0** it whistles twice.',
          author: EXAMPLE_AUTHOR,
          state: 'open',
          labels: ['bug'],
          assignees: null,
          milestone: '2.1',
          comments: 4,
          is_pull_request: false,
          published_at: '2024-04-20T09:00:00Z',
          updated_at: '2024-04-22T16:40:00Z',
          closed_at: null,
        },
      },
      begin: beginIssues,
      read: (turn, source) => readLinkedPage(API, turn, source, readIssue),
    }),
    chained<LinkedArgs>({
      ...COMMON,
      name: 'repo.releases',
      description: 'The published releases of a repository, the newest first.',
      input: schema.inputSchema(
        { site: SERVER, owner: OWNER, repo: schema.nameInput('Name of the repository.', NAME, 100) },
        ['site', 'owner', 'repo'],
      ),
      record: RELEASE,
      example: {
        input: { site: 'git.example.org', owner: 'tea', repo: 'kettle' },
        record: {
          id: '9301',
          url: 'https://git.example.org/tea/kettle/releases/tag/v2.0.0',
          title: 'Kettle 2.0',
          tag: 'v2.0.0',
          text: 'It whistles.',
          author: EXAMPLE_AUTHOR,
          is_prerelease: false,
          published_at: '2024-04-18T14:00:00Z',
          created_at: '2024-04-18T14:00:00Z',
          assets: [
            {
              name: 'kettle.tgz',
              url: 'https://git.example.org/tea/kettle/releases/download/v2.0.0/kettle.tgz',
              bytes: 120400,
              downloads: 310,
            },
          ],
        },
      },
      begin: (input) => begin(input, repositoryPath(input, 'releases')),
      read: (turn, source) => readLinkedPage(API, turn, source, readRelease),
    }),
  ],
};
