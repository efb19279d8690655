import {
  SourceFailure,
  type Connector,
  type FoundRecord,
  type JsonAnswer,
  type JsonObject,
  type Source,
} from '../base/connector.ts';
import { isoDate } from '../read/dates.ts';
import { address, type AddressQuery } from './kit/api-address.ts';
import { chained, type ChainStart, type PageResult, type ChainTurn } from './kit/chain.ts';
import {
  isPullRequest,
  ISSUE_FIELDS,
  ISSUE_STATE,
  readGithubIssue,
  readGithubRelease,
  readGithubRepository,
  RELEASE_FIELDS,
  REPOSITORY_FIELDS,
} from './kit/code-hosts.ts';
import { dateGiven } from './kit/date-input.ts';
import { at, givenText, idOf, listIn, readEach, textMember, urlOf } from './kit/json.ts';
import { nextQuery } from './kit/link-header.ts';
import { restOfWindow } from './kit/source-window.ts';
import { recordOf } from './kit/record.ts';
import * as schema from './kit/schema.ts';

const BASE = 'https://api.github.com';
/** Source: "Using pagination in the REST API". */
const PAGE_SIZE_MAX = 100;
/** GitHub responds with 403 to a request without `User-Agent`. The service adds its own to every request. */
const HEADERS = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' };

interface Args extends JsonObject {
  readonly path: readonly string[];
  readonly query: { readonly [name: string]: string | null };
  /** For issues: whether to keep pull requests, which GitHub lists among them. */
  readonly keepsPulls: boolean;
}

const REPOSITORY = schema.recordSchema({
  id: schema.idField('Number of the repository.'),
  url: schema.urlField('The repository.'),
  ...REPOSITORY_FIELDS,
});
const ISSUE = schema.recordSchema({
  id: schema.idField('Number of the issue, unique in all of GitHub.'),
  url: schema.urlField('The issue.'),
  ...ISSUE_FIELDS,
});
const RELEASE = schema.recordSchema({
  id: schema.idField('Number of the release.'),
  url: schema.urlField('The release.'),
  ...RELEASE_FIELDS,
});

async function readPage(
  { args, at: cursor, size }: ChainTurn<Args>,
  source: Source,
  read: (item: JsonObject) => FoundRecord | null,
): Promise<PageResult<Args>> {
  // Uses only the query of the link to the next page. In some lists it contains a page number, in others a cursor.
  const query: AddressQuery =
    cursor === null
      ? { ...args.query, per_page: size }
      : Object.fromEntries(new URLSearchParams(String(cursor)).entries());
  const answer = await source.json(address(source.base(BASE), args.path, query), {
    headers: HEADERS,
    allowStatuses: [403],
  });
  if (answer.status === 403) throw refusal(answer);
  const items = listIn(answer.body, 'the list');
  const kept = args.keepsPulls ? items : items.filter((item) => !isPullRequest(item));
  return {
    kind: 'page',
    records: readEach(kept, read),
    next: items.length === 0 ? null : (nextQuery(answer.headers['link'])?.toString() ?? null),
    total: null,
    ...restOfWindow(answer, 'x-ratelimit'),
  };
}

/** GitHub also responds with 403 when the rate limit is exceeded. Source: "Rate limits for the REST API", "Exceeding the rate limit". */
function refusal({ headers, body, url }: JsonAnswer): SourceFailure {
  const isTooMuch =
    headers['x-ratelimit-remaining'] === '0' ||
    headers['retry-after'] !== undefined ||
    /rate limit/i.test(textMember(at(body, 'message')) ?? '');
  return isTooMuch
    ? new SourceFailure('rate_limited_by_source', `403 from ${url}: rate limit`, true)
    : new SourceFailure('access_denied', `403 from ${url}`, false);
}

function readRepository(item: JsonObject): FoundRecord | null {
  const license = { license: textMember(at(item, 'license', 'spdx_id')) };
  return recordOf(idOf(item['id']), urlOf(item['html_url']), {
    ...readGithubRepository(item, { homepage: 'homepage', stars: 'stargazers_count', license }),
    pushed_at: isoDate(item['pushed_at']),
  });
}

function readIssue(item: JsonObject): FoundRecord | null {
  return recordOf(idOf(item['id']), urlOf(item['html_url']), readGithubIssue(item));
}

function readRelease(item: JsonObject): FoundRecord | null {
  return recordOf(idOf(item['id']), urlOf(item['html_url']), readGithubRelease(item));
}

function beginIssues(input: JsonObject): ChainStart<Args> {
  const since = dateGiven(input, 'updated_after');
  if (since.kind === 'fault') return since;
  const query = { state: textMember(input['state']) ?? 'all', since: since.iso, sort: 'created', direction: 'desc' };
  const keepsPulls = input['with_pull_requests'] === true;
  return { kind: 'args', args: { path: repositoryPath(input, 'issues'), query, keepsPulls } };
}

function repositoryPath(input: JsonObject, list: string): readonly string[] {
  return ['repos', givenText(input, 'owner'), givenText(input, 'repo'), list];
}

const LOGIN = '^[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?$';
const OWNER = schema.nameInput('Login of the account or organisation.', LOGIN, 60);
const REPO = schema.nameInput('Name of the repository.', '^(?!\\.{1,2}$)[A-Za-z0-9._-]+$', 100);
const EXAMPLE_AUTHOR = { name: 'mira', url: 'https://github.com/mira' };
const COMMON = { tier: 'basic', pageSizeMax: PAGE_SIZE_MAX, sizing: 'fixed' } as const;
const PAGING = 'By the `Link` header, 100 a page; no total is announced.';

export const github: Connector = {
  id: 'github',
  title: 'GitHub',
  description: 'Public repositories of organisations, and the issues and releases of repositories.',
  docsUrl: 'https://docs.github.com/en/rest',
  hosts: [new URL(BASE).hostname],
  terms: {
    termsUrl: 'https://docs.github.com/en/site-policy/github-terms/github-terms-of-service#h-api-terms',
    attribution: null,
    ratePolicy:
      '60 requests an hour from one address without a key; when they are used up, the job waits for the next window.',
  },
  operations: [
    chained<Args>({
      ...COMMON,
      name: 'org.repos',
      description: 'The public repositories of an organisation, the newest first.',
      paging: PAGING,
      input: schema.inputSchema({ org: schema.nameInput('Login of the organisation.', LOGIN, 60) }, ['org']),
      record: REPOSITORY,
      example: {
        input: { org: 'example-tea' },
        record: {
          id: '7001',
          url: 'https://github.com/example-tea/kettle',
          name: 'kettle',
          full_name: 'example-tea/kettle',
          description: 'A kettle that logs',
          homepage_url: 'https://kettle.example/',
          language: 'TypeScript',
          topics: ['tea'],
          license: 'Apache-2.0',
          stars: 41,
          forks: 3,
          open_issues: 5,
          is_fork: false,
          is_archived: false,
          default_branch: 'main',
          created_at: '2023-01-15T10:00:00Z',
          updated_at: '2024-05-01T12:00:00Z',
          pushed_at: '2024-05-01T11:58:00Z',
        },
      },
      begin: (input) => ({
        kind: 'args',
        args: {
          path: ['orgs', givenText(input, 'org'), 'repos'],
          query: { type: 'public', sort: 'created', direction: 'desc' },
          keepsPulls: true,
        },
      }),
      read: (turn, source) => readPage(turn, source, readRepository),
    }),
    chained<Args>({
      ...COMMON,
      name: 'repo.issues',
      description: 'The issues of a repository, the newest first; pull requests only if requested.',
      paging: PAGING,
      input: schema.inputSchema(
        {
          owner: OWNER,
          repo: REPO,
          state: ISSUE_STATE,
          updated_after: schema.dateInput('Only issues that changed after this time.'),
          with_pull_requests: schema.flagInput('Includes pull requests, which GitHub lists among issues.'),
        },
        ['owner', 'repo'],
      ),
      record: ISSUE,
      example: {
        input: { owner: 'example-tea', repo: 'kettle', state: 'open' },
        record: {
          id: '88001',
          url: 'https://github.com/example-tea/kettle/issues/12',
          number: 12,
          title: 'It whistles twice',
          text: 'Since **2.0** it whistles twice.',
          author: EXAMPLE_AUTHOR,
          state: 'open',
          state_reason: null,
          labels: ['bug'],
          assignees: ['noor'],
          milestone: '2.1',
          comments: 4,
          is_pull_request: false,
          published_at: '2024-04-20T09:00:00Z',
          updated_at: '2024-04-22T16:40:00Z',
          closed_at: null,
        },
      },
      begin: beginIssues,
      read: (turn, source) => readPage(turn, source, readIssue),
    }),
    chained<Args>({
      ...COMMON,
      name: 'repo.releases',
      description: 'The published releases of a repository, the newest first.',
      paging: PAGING,
      input: schema.inputSchema({ owner: OWNER, repo: REPO }, ['owner', 'repo']),
      record: RELEASE,
      example: {
        input: { owner: 'example-tea', repo: 'kettle' },
        record: {
          id: '9301',
          url: 'https://github.com/example-tea/kettle/releases/tag/v2.0.0',
          title: 'Kettle 2.0',
          tag: 'v2.0.0',
          text: 'It whistles.',
          author: EXAMPLE_AUTHOR,
          is_prerelease: false,
          published_at: '2024-04-18T14:00:00Z',
          created_at: '2024-04-18T13:30:00Z',
          assets: [
            {
              name: 'kettle.tgz',
              url: 'https://github.com/example-tea/kettle/releases/download/v2.0.0/kettle.tgz',
              bytes: 120400,
              downloads: 310,
            },
          ],
        },
      },
      begin: (input) => ({
        kind: 'args',
        args: { path: repositoryPath(input, 'releases'), query: {}, keepsPulls: true },
      }),
      read: (turn, source) => readPage(turn, source, readRelease),
    }),
  ],
};
