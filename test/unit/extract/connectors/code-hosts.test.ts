import { describe, expect, it } from 'vitest';
import { gitea } from '../../../../src/extract/connectors/gitea.ts';
import { gitlab } from '../../../../src/extract/connectors/gitlab.ts';
import type { JsonObject } from '../../../../src/extract/base/connector.ts';
import { runOperation } from '../../../conformance/run-operation.ts';
import { giteaWorld } from '../../../sources/gitea.ts';
import { gitlabWorld } from '../../../sources/gitlab.ts';
import type { World } from '../../../sources/source-case.ts';
import { fakeSource } from '../../../support/fake-source.ts';
import { operationNamed, ran } from './operation-runs.ts';

const LAB = { site: 'gitlab.example.org', project: 'tea/kettle' };
const TEA = { site: 'git.example.org', owner: 'tea', repo: 'kettle' };

/** The world with other headers in each response. */
function withHeaders(world: World, change: (headers: Readonly<Record<string, string>>) => JsonObject): World {
  return (request) => {
    const reply = world(request);
    if (typeof reply !== 'object' || reply === null || !('body' in reply)) return reply;
    return { ...reply, headers: change(reply.headers ?? {}) as Readonly<Record<string, string>> };
  };
}

describe('gitlab', () => {
  it('gitlab reads a complete issue; an opened one is open', async () => {
    const { fields } = await ran(operationNamed(gitlab, 'project.issues'), LAB, gitlabWorld(2));
    expect(fields[0]).toEqual({
      id: '88001',
      url: 'https://gitlab.example.org/tea/kettle/-/issues/1',
      number: 1,
      title: 'It whistles twice',
      text: 'Since **2.0**.',
      author: { name: 'Mira', url: 'https://gitlab.example.org/mira' },
      state: 'open',
      labels: ['bug'],
      assignees: ['noor'],
      milestone: '2.1',
      comments: 4,
      published_at: '2024-04-20T09:00:00Z',
      updated_at: '2024-04-22T16:40:00Z',
      closed_at: null,
      kind: 'issue',
    });
    expect(fields[1]).toMatchObject({ state: 'closed', milestone: null });
  });

  it('gitlab asks for open issues by the name that the server has for them', async () => {
    const input = { ...LAB, state: 'open', updated_after: '2024-01-01' };
    const { source } = await ran(operationNamed(gitlab, 'project.issues'), input, gitlabWorld(2));
    const { searchParams } = new URL(source.urls[0] ?? '');
    expect([searchParams.get('state'), searchParams.get('updated_after')]).toEqual(['opened', '2024-01-01T00:00:00Z']);
  });

  it('gitlab gives a release an address if an older server does not', async () => {
    const { fields } = await ran(
      operationNamed(gitlab, 'project.releases'),
      { ...LAB, site: 'example.org/lab' },
      gitlabWorld(2, '/lab'),
    );
    expect(fields.map(({ id, url }) => [id, url])).toEqual([
      ['v0', 'https://gitlab.example.org/tea/kettle/-/releases/v0'],
      ['v1', 'https://example.org/lab/tea/kettle/-/releases/v1'],
    ]);
  });

  it('gitlab leaves unknown what a list without authentication does not show', async () => {
    const search = await ran(operationNamed(gitlab, 'search.projects'), { site: LAB.site }, gitlabWorld(1));
    const group = await ran(
      operationNamed(gitlab, 'group.projects'),
      { site: LAB.site, group: 'tea/pots' },
      gitlabWorld(1),
    );
    expect(search.fields[0]).toMatchObject({
      full_name: 'tea/kettle-0',
      stars: 41,
      open_issues: null,
      is_archived: null,
    });
    expect(group.fields[0]).toMatchObject({ full_name: 'tea/kettle-0', stars: 41, open_issues: 5, is_archived: false });
  });

  it('gitlab takes only the place from the link to the next page, whose path and host may be others', async () => {
    const input = { ...LAB, site: 'https://mirror.example/lab' };
    const { source } = await ran(operationNamed(gitlab, 'project.issues'), input, gitlabWorld(250, '/lab'));
    const urls = source.urls.map((url) => new URL(url));
    expect(new Set(urls.map(({ origin, pathname }) => origin + pathname))).toEqual(
      new Set(['https://mirror.example/lab/api/v4/projects/tea%2Fkettle/issues']),
    );
    expect(urls.map(({ searchParams }) => [searchParams.get('page'), searchParams.get('id')])).toEqual([
      [null, null],
      ['2', null],
      ['3', null],
    ]);
  });

  it('gitlab reads lists of any length after a long query', async () => {
    const input = { site: LAB.site, query: '茶'.repeat(300) };
    const { records } = await ran(operationNamed(gitlab, 'search.projects'), input, gitlabWorld(250));
    expect(records).toHaveLength(250);
  });

  it("gitlab waits for the next window after the last allowed request, by the source's clock", async () => {
    const world = withHeaders(gitlabWorld(150), (headers) => ({ ...headers, 'ratelimit-remaining': '0' }));
    const { pauses } = await runOperation(operationNamed(gitlab, 'project.releases'), LAB, fakeSource(world));
    expect(pauses).toEqual([60]);
  });

  it('gitlab reports a full page without a Link header, after which the list may go on', async () => {
    const world = withHeaders(gitlabWorld(150), () => ({}));
    const does = operationNamed(gitlab, 'project.releases');
    const begun = does.start(LAB);
    const [step] = begun.kind === 'steps' ? begun.steps : [];
    const found = await does.run(step?.state ?? {}, fakeSource(world), { recordsLeft: Infinity });
    expect(found).toMatchObject({ next: [], unreadable: [{ reason: 'parse_failed' }] });
    expect(found.records).toHaveLength(100);
  });

  it.each([
    [{ ...LAB, updated_after: 'soon' }, '/updated_after'],
    [{ ...LAB, site: 'ftp://gitlab.example.org' }, '/site'],
  ])('gitlab refuses %j', (input, pointer) => {
    expect(operationNamed(gitlab, 'project.issues').start(input)).toMatchObject({ kind: 'fault', pointer });
  });
});

describe('gitea', () => {
  it('gitea reads a complete repository; empty texts are null', async () => {
    const { fields } = await ran(operationNamed(gitea, 'org.repos'), { site: TEA.site, org: 'tea' }, giteaWorld(2));
    expect(fields[0]).toEqual({
      id: '7001',
      url: 'https://git.example.org/tea/kettle-0',
      name: 'kettle-0',
      full_name: 'tea/kettle-0',
      description: null,
      homepage_url: null,
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
    });
    expect(fields[1]).toMatchObject({ language: null, licenses: null });
  });

  it('gitea names the first author of an issue that was moved from another host', async () => {
    const { fields } = await ran(operationNamed(gitea, 'repo.issues'), TEA, giteaWorld(2));
    expect(fields.map(({ author, assignees }) => [author, assignees])).toEqual([
      [{ name: 'mira', url: 'https://git.example.org/mira' }, null],
      [{ name: 'noor', url: null }, null],
    ]);
  });

  it('gitea omits pull requests unless they are requested', async () => {
    const does = operationNamed(gitea, 'repo.issues');
    const without = await ran(does, TEA, giteaWorld(10));
    const withPulls = await ran(does, { ...TEA, with_pull_requests: true }, giteaWorld(10));
    const pulls = (fields: readonly JsonObject[]) => fields.filter(({ is_pull_request }) => is_pull_request).length;
    expect([pulls(without.fields), pulls(withPulls.fields)]).toEqual([0, 5]);
  });

  it('gitea reads a server that sends smaller pages than requested', async () => {
    const { records, source } = await ran(operationNamed(gitea, 'repo.releases'), TEA, giteaWorld(50, { sizeMax: 20 }));
    expect(records).toHaveLength(50);
    expect(source.urls.map((url) => new URL(url).searchParams.get('page'))).toEqual([null, '2', '3']);
  });

  it('gitea reads a server in a folder', async () => {
    const input = { ...TEA, site: 'https://example.org/git/' };
    const { records } = await ran(operationNamed(gitea, 'repo.releases'), input, giteaWorld(3, { folder: '/git' }));
    expect(records).toHaveLength(3);
  });
});
