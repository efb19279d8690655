import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue, Operation } from '../../../../src/extract/base/connector.ts';
import { CONNECTORS } from '../../../../src/extract/connectors/connector-table.ts';
import { recordOf as newRecord } from '../../../../src/extract/connectors/kit/record.ts';
import { runOperation } from '../../../conformance/run-operation.ts';
import { crossrefWorld } from '../../../sources/crossref.ts';
import { githubWorld } from '../../../sources/github.ts';
import { hackernewsWorld } from '../../../sources/hackernews.ts';
import { jobboardsWorld } from '../../../sources/jobboards.ts';
import { mastodonWorld } from '../../../sources/mastodon.ts';
import { lagging, mediawikiWorld } from '../../../sources/mediawiki.ts';
import { openlibraryWorld } from '../../../sources/openlibrary.ts';
import { shopifyWorld } from '../../../sources/shopify.ts';
import { json, type World } from '../../../sources/source-case.ts';
import { stackexchangeError, stackexchangeWorld } from '../../../sources/stackexchange.ts';
import { wordpressWorld } from '../../../sources/wordpress.ts';
import { fakeSource, type FakeReply } from '../../../support/fake-source.ts';

function operation(name: string): Operation {
  const [id, operationName] = name.split(' ');
  const found = CONNECTORS.find((connector) => connector.id === id)?.operations.find(
    (one) => one.name === operationName,
  );
  if (found === undefined) throw new Error(`no operation ${name}`);
  return found;
}

async function recordOf(name: string, input: JsonObject, world: World): Promise<JsonObject> {
  const { records } = await runOperation(operation(name), input, fakeSource(world), { limit: 1 });
  const [record] = records;
  if (record === undefined) throw new Error('no record');
  return record.fields;
}

/** A world whose first responses are replaced. */
function first(replies: readonly FakeReply[], world: World): World {
  let asked = 0;
  return (request) => {
    asked += 1;
    return asked <= replies.length ? replies[asked - 1] : world(request);
  };
}

describe('wordpress', () => {
  it('wordpress reads a complete post: entities, author, terms, image, times in UTC', async () => {
    expect(await recordOf('wordpress site.posts', { site: 'blog.example.com' }, wordpressWorld(1))).toEqual({
      id: '1000',
      url: 'https://blog.example.com/entry-0/',
      title: 'Entry ‘0’ & more',
      excerpt: 'First…',
      text: 'First 0.\nSecond.',
      html: '<p>First 0.</p>\n<script>x()</script><p>Second.</p>',
      author: { name: 'Ada Park', url: 'https://blog.example.com/author/ada/' },
      published_at: '2024-05-02T08:00:00Z',
      updated_at: '2024-05-03T10:30:00Z',
      categories: ['News & dates'],
      tags: ['tea'],
      image_url: 'https://blog.example.com/wp-content/uploads/door.jpg',
    });
  });

  it('wordpress uses rest_route on sites without URL rewriting, and remembers that', async () => {
    const source = fakeSource(wordpressWorld(150, { isPlain: true }));
    const { records } = await runOperation(operation('wordpress site.posts'), { site: 'blog.example.com' }, source);
    expect(records).toHaveLength(150);
    expect(source.urls.map((url) => new URL(url).searchParams.has('rest_route'))).toEqual([false, true, true]);
  });

  it.each([
    [50, [100, 50, 50, 50]],
    [12, [100, 50, 20, 10, ...Array.from({ length: 14 }, () => 10)]],
  ])('wordpress requests smaller pages where a site accepts at most %i records a page', async (sizeMax, sizes) => {
    const source = fakeSource(wordpressWorld(150, { sizeMax }));
    const { records } = await runOperation(operation('wordpress site.posts'), { site: 'blog.example.com' }, source);
    expect(records).toHaveLength(150);
    expect(source.urls.map((url) => Number(new URL(url).searchParams.get('per_page')))).toEqual(sizes);
  });

  it('wordpress fails where a site refuses pages of every size, or something else', async () => {
    const run = (world: World): Promise<unknown> =>
      runOperation(operation('wordpress site.posts'), { site: 'blog.example.com' }, fakeSource(world));
    await expect(run(wordpressWorld(5, { sizeMax: 1 }))).rejects.toMatchObject({ reason: 'parse_failed' });
    const other = { code: 'rest_invalid_param', data: { params: { search: 'x' } } };
    await expect(run(() => json(other, {}, 400))).rejects.toMatchObject({ reason: 'parse_failed' });
  });

  it.each([
    ['parse_failed', { body: '<br />\n<b>Warning</b>: x<br />\n[{"id":', headers: { 'content-type': 'text/html' } }],
    ['unsupported_content', '<!doctype html><title>Welcome</title>'],
  ])(
    'wordpress reports %s of the first address, although there is nothing at the second one',
    async (reason, reply) => {
      const source = fakeSource(({ url }) => (url.includes('rest_route') ? null : reply));
      await expect(
        runOperation(operation('wordpress site.posts'), { site: 'blog.example.com' }, source),
      ).rejects.toMatchObject({ reason });
      expect(source.urls).toHaveLength(2);
    },
  );

  it("wordpress finds a company's blog next to its website, and remembers where it was", async () => {
    const source = fakeSource(wordpressWorld(150, { prefix: '/news' }));
    await runOperation(operation('wordpress company.posts'), { company: 'example.com' }, source);
    const paths = source.urls.map((url) => new URL(url).pathname);
    expect(paths.filter((path) => path === '/news/wp-json/wp/v2/posts')).toHaveLength(2);
    expect(paths.at(-1)).toBe('/news/wp-json/wp/v2/posts');
    expect(paths).toHaveLength(6);
  });

  it('wordpress tries no further URL after a denied request', async () => {
    const source = fakeSource(() => json({ code: 'rest_forbidden' }, {}, 403));
    await expect(
      runOperation(operation('wordpress company.posts'), { company: 'example.com' }, source),
    ).rejects.toThrow('403');
    expect(source.urls).toHaveLength(1);
  });

  it.each([
    [{ site: 'ftp://example.com' }, '/site'],
    [{ site: 'example.com', published_after: 'soon' }, '/published_after'],
  ])('wordpress rejects the input %j with a fault at %s', (input, pointer) => {
    expect(operation('wordpress site.posts').start(input)).toMatchObject({ kind: 'fault', pointer });
  });
});

describe.each([
  ['hackernews search.posts', { query: 'kettle' }, hackernewsWorld(2_000), 1_000, 1],
  ['hackernews search.posts', { query: 'kettle', sort: 'newest' }, hackernewsWorld(2_000), 2_000, 3],
  ['stackexchange search.posts', { query: 'limescale', site: 'cooking' }, stackexchangeWorld(2_700), 2_500, 25],
  ['crossref search.works', { query: 'limescale' }, crossrefWorld(250), 250, 2],
  ['openlibrary search.works', { query: 'tea' }, openlibraryWorld(200), 200, 2],
  ['wordpress site.posts', { site: 'blog.example.com' }, wordpressWorld(200), 200, 2],
  ['github org.repos', { org: 'example-tea' }, githubWorld(200), 200, 2],
] as const)('%s %j', (name, input, world, recordCount, requestCount) => {
  it(`the operation finds ${recordCount} records in ${requestCount} requests`, async () => {
    const source = fakeSource(world);
    const { records } = await runOperation(operation(name), input, source);
    expect([records.length, source.urls.length]).toEqual([recordCount, requestCount]);
  });
});

describe('shopify', () => {
  it('shopify reports the price range and whether any variant is available', async () => {
    const record = await recordOf('shopify store.products', { site: 'shop.example.com' }, shopifyWorld(1));
    expect(record).toMatchObject({ price_min: '9.50', price_max: '14.00', available: true, text: 'Holds 0.3 l.' });
    expect(record['published_at']).toBe('2024-03-01T09:00:00Z');
  });
});

describe('mediawiki', () => {
  const input = { site: 'wiki.example.org', query: 'tea' };

  it('mediawiki waits for a wiki with replication lag, for as long as the wiki asks', async () => {
    const source = fakeSource(first([lagging(7), lagging(3)], mediawikiWorld(4)));
    const { records, pauses } = await runOperation(operation('mediawiki search.pages'), input, source);
    expect(records).toHaveLength(4);
    expect(pauses).toEqual([7, 3]);
  });

  it('mediawiki gives up on a wiki whose replication lag never ends', async () => {
    const run = runOperation(
      operation('mediawiki search.pages'),
      input,
      fakeSource(() => lagging(5)),
    );
    await expect(run).rejects.toMatchObject({ reason: 'source_unavailable', retryable: true });
  });

  it.each([
    ['readapidenied', 'login_required'],
    ['ratelimited', 'rate_limited_by_source'],
    ['internal_api_error_DBQueryError', 'source_unavailable'],
    ['unknown_action', 'unsupported_content'],
  ])('mediawiki maps the error %s to %s', async (code, reason) => {
    const run = runOperation(
      operation('mediawiki search.pages'),
      input,
      fakeSource(() => json({ error: { code } })),
    );
    await expect(run).rejects.toMatchObject({ reason });
  });

  it("mediawiki builds page URLs from the wiki's own pattern", async () => {
    expect(await recordOf('mediawiki search.pages', input, mediawikiWorld(1))).toMatchObject({
      url: 'https://wiki.example.org/wiki/Tea_0',
      snippet: 'black tea & oil',
    });
  });

  it('mediawiki finds the interface once and keeps using it', async () => {
    const source = fakeSource(mediawikiWorld(1_203, '/api.php'));
    await runOperation(operation('mediawiki search.pages'), input, source);
    expect(source.urls.map((url) => new URL(url).pathname)).toEqual(['/w/api.php', '/api.php', '/api.php', '/api.php']);
  });

  it('mediawiki reads text, HTML and visible categories of a page', async () => {
    const record = await recordOf(
      'mediawiki page.content',
      { site: 'wiki.example.org', title: 'x' },
      mediawikiWorld(1),
    );
    expect(record).toMatchObject({
      text: 'Earl Grey is a tea.',
      display_title: 'Earl Grey',
      categories: ['Black tea'],
    });
    expect(record['external_links']).toEqual(['https://tea.example/']);
  });
});

describe('mastodon', () => {
  it('mastodon looks up an account once', async () => {
    const source = fakeSource(mastodonWorld(90));
    await runOperation(operation('mastodon account.posts'), { site: 'social.example', account: 'mira' }, source);
    expect(source.urls.map((url) => new URL(url).pathname.split('/').at(-1))).toEqual([
      'lookup',
      'statuses',
      'statuses',
      'statuses',
    ]);
  });

  it('mastodon returns the text of a reblogged post, and its URL', async () => {
    const input = { site: 'social.example', account: 'mira' };
    const { records } = await runOperation(operation('mastodon account.posts'), input, fakeSource(mastodonWorld(4)));
    expect(records[3]?.fields).toMatchObject({ text: 'Tea time.', reposted_url: 'https://other.example/@noor/1' });
    expect(records[0]?.fields).toMatchObject({
      author: { name: 'mira', url: 'https://social.example/@mira' },
      reposted_url: null,
    });
  });

  it('mastodon reports a full page without a Link header, as other software sends it, as a list that may go on', async () => {
    const posts = operation('mastodon tag.posts');
    const begun = posts.start({ site: 'social.example', tag: 'tea' });
    const state = begun.kind === 'steps' ? (begun.steps[0]?.state ?? {}) : {};
    const world = mastodonWorld(90);
    const without = (keep: (at: number) => boolean) =>
      fakeSource((request) => {
        const reply = world(request) as { readonly body: readonly JsonValue[] };
        return { body: reply.body.filter((_, at) => keep(at)) };
      });
    const want = { recordsLeft: Infinity };
    expect(
      (
        await posts.run(
          state,
          without(() => true),
          want,
        )
      ).unreadable,
    ).toMatchObject([{ reason: 'parse_failed' }]);
    expect(
      (
        await posts.run(
          state,
          without((at) => at < 39),
          want,
        )
      ).unreadable,
    ).toBeUndefined();
    expect((await posts.run(state, fakeSource(world), want)).unreadable).toBeUndefined();
  });

  it('discourse reports a forum for members as login_required, and any other 403 as access_denied', async () => {
    for (const [error_type, reason] of [
      ['not_logged_in', 'login_required'],
      ['invalid_access', 'access_denied'],
    ] as const) {
      const source = fakeSource(() => ({ status: 403, body: { errors: ['No.'], error_type } }));
      const run = runOperation(operation('discourse site.topics'), { site: 'forum.example' }, source);
      await expect(run).rejects.toMatchObject({ reason });
    }
  });

  it('mastodon reports 422, the response of closed servers, as login_required', async () => {
    const run = runOperation(
      operation('mastodon tag.posts'),
      { site: 'social.example', tag: 'tea' },
      fakeSource(() => json({}, {}, 422)),
    );
    await expect(run).rejects.toMatchObject({ reason: 'login_required' });
  });
});

describe('stackexchange', () => {
  const input = { query: 'limescale', site: 'cooking' };

  it('stackexchange passes on the pause that the source asks for', async () => {
    const world: World = (request) => {
      const reply = stackexchangeWorld(150)(request);
      if (typeof reply !== 'object' || reply === null || !('body' in reply)) return reply;
      return json({ ...(reply.body as JsonObject), backoff: 10 });
    };
    const { pauses } = await runOperation(operation('stackexchange search.posts'), input, fakeSource(world));
    expect(pauses).toEqual([10]);
  });

  it.each([
    [502, 'throttle_violation', 'rate_limited_by_source'],
    [503, 'temporarily_unavailable', 'source_unavailable'],
    [403, 'access_denied', 'access_denied'],
    [404, 'no_method', 'source_not_found'],
    [400, 'bad_parameter', 'parse_failed'],
  ])('stackexchange maps the error %i %s to %s', async (id, name, reason) => {
    const run = runOperation(
      operation('stackexchange search.posts'),
      input,
      fakeSource(() => stackexchangeError(id, name, 'no')),
    );
    await expect(run).rejects.toMatchObject({ reason });
  });

  it('stackexchange reports an unknown site as source_not_found', async () => {
    const run = runOperation(
      operation('stackexchange search.posts'),
      { query: 'x', site: 'nowhere' },
      fakeSource(stackexchangeWorld(1)),
    );
    await expect(run).rejects.toMatchObject({ reason: 'source_not_found' });
  });

  it.each([
    [undefined, 'stackoverflow.com'],
    ['superuser', 'superuser.com'],
    ['meta.stackoverflow', 'meta.stackoverflow.com'],
    ['mathoverflow', 'mathoverflow.net'],
    ['cooking', 'cooking.stackexchange.com'],
    ['cooking.stackexchange.com', 'cooking.stackexchange.com'],
  ])('stackexchange links the answers of site %s to %s', async (site, host) => {
    const world: World = (request) =>
      stackexchangeWorld(1)({ ...request, url: request.url.replace(/site=[^&]*/, 'site=cooking') });
    const record = await recordOf(
      'stackexchange question.answers',
      site === undefined ? { question: 5501 } : { question: 5501, site },
      world,
    );
    expect(record['url']).toBe(`https://${host}/a/6000`);
  });
});

describe('github', () => {
  const input = { owner: 'example-tea', repo: 'kettle' };

  it.each([
    [{ 'x-ratelimit-remaining': '0' }, 'rate_limited_by_source', true],
    [{ 'retry-after': '60' }, 'rate_limited_by_source', true],
    [{}, 'access_denied', false],
  ])('github decides by the headers %j that a 403 means %s', async (headers, reason, retryable) => {
    const run = runOperation(
      operation('github repo.issues'),
      input,
      fakeSource(() => json({ message: 'No' }, headers, 403)),
    );
    await expect(run).rejects.toMatchObject({ reason, retryable });
  });

  it("github waits for the next window after the last allowed request, by the source's clock", async () => {
    const world: World = (request) => {
      const reply = githubWorld(150)(request);
      if (typeof reply !== 'object' || reply === null || !('body' in reply)) return reply;
      const limits = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(Date.UTC(2024, 4, 2, 8, 20) / 1_000) };
      return { ...reply, headers: { ...reply.headers, ...limits } };
    };
    const { pauses } = await runOperation(operation('github repo.releases'), input, fakeSource(world));
    expect(pauses).toEqual([1_200]);
  });

  it('github omits pull requests unless they are requested', async () => {
    const without = await runOperation(operation('github repo.issues'), input, fakeSource(githubWorld(10)));
    const asked = { ...input, with_pull_requests: true };
    const withPulls = await runOperation(operation('github repo.issues'), asked, fakeSource(githubWorld(10)));
    expect([without.records.length, withPulls.records.length]).toEqual([10, 20]);
  });

  it('github follows links that name other hosts and paths on its own host and path', async () => {
    const source = fakeSource(githubWorld(250), { base: 'http://127.0.0.1:9' });
    await runOperation(operation('github repo.releases'), input, source);
    expect(source.urls.map((url) => new URL(url).origin + new URL(url).pathname)).toEqual(
      Array.from({ length: 3 }, () => 'http://127.0.0.1:9/repos/example-tea/kettle/releases'),
    );
  });
});

describe('jobboards', () => {
  it.each([
    [
      'greenhouse',
      {
        html: '<p>You taste tea &amp; more.</p>',
        text: 'You taste tea & more.',
        published_at: '2024-04-01T07:00:00Z',
      },
    ],
    [
      'lever',
      {
        text: 'You taste tea.\nYou have\na tongue\nWrite to us.',
        is_remote: false,
        compensation: '40000–52000 EUR per-year-salary',
      },
    ],
    ['ashby', { locations: ['Hamburg', 'Colombo'], is_remote: false, compensation: '€40K – €52K' }],
  ])('jobboards reads a job of %s', async (board, expected) => {
    expect(await recordOf('jobboards company.jobs', { board, company: 'exampletea' }, jobboardsWorld(1))).toMatchObject(
      expected,
    );
  });
});

describe('texts of records', () => {
  it('The texts of an interface lose their control characters, in lists and objects too', () => {
    const found = newRecord('7\b', 'https://x.example/', {
      title: 'Fo\bg',
      tags: ['a\u0000'],
      author: { name: 'M\u007f' },
    });
    expect(found?.fields).toEqual({
      id: '7\b',
      url: 'https://x.example/',
      title: 'Fog',
      tags: ['a'],
      author: { name: 'M' },
    });
  });
});
