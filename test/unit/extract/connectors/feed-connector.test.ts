import { describe, expect, test } from 'vitest';
import { SourceFailure } from '../../../../src/extract/base/connector.ts';
import { feed } from '../../../../src/extract/connectors/feed-connector.ts';
import { fakeSource, type FakeReply } from '../../../support/fake-source.ts';
import { pageText } from '../../../support/pages.ts';
import { ran } from './operation-runs.ts';

const [items, posts] = feed.operations;
if (items === undefined || posts === undefined) throw new Error('two operations');

const XML = { 'content-type': 'application/rss+xml' };
const rss = (...names: readonly string[]): FakeReply => ({
  headers: XML,
  body: `<rss version="2.0"><channel><title>F</title>${names.map((name) => `<item><title>${name}</title><link>/${name}</link></item>`).join('')}</channel></rss>`,
});
const answers = (all: Readonly<Record<string, FakeReply>>): ReadonlyMap<string, FakeReply> =>
  new Map(Object.entries(all));

describe('feed.items', () => {
  test('feed.items reads a feed and its further pages', async () => {
    const world = answers({
      'https://coast.example/feed': { headers: XML, body: pageText('feed/rss.xml') },
      'https://coast.example/feed?page=2': rss('old'),
    });
    const { fields, source } = await ran(items, { url: 'coast.example/feed' }, world);
    expect(fields.map(({ id }) => id)).toEqual([
      'coast-1',
      'https://coast.example/news/2',
      'https://coast.example/old',
    ]);
    expect(fields[0]).toMatchObject({
      feed_url: 'https://coast.example/feed',
      feed_title: 'Harbour & coast',
      categories: ['Ferries', 'Weather'],
    });
    expect(source.urls).toHaveLength(2);
    expect((await ran(items, { url: 'coast.example/feed' }, world, { limit: 2 })).source.urls).toHaveLength(1);
  });

  test('feed.items returns what a feed says besides, and null for an item without it', async () => {
    const world = answers({
      'https://tides.example/feed': { headers: XML, body: pageText('feed/podcast.xml') },
    });
    const { fields } = await ran(items, { url: 'tides.example/feed' }, world);
    expect(fields.map(({ extensions }) => extensions)).toEqual([
      expect.objectContaining({ duration_seconds: 3_725, season: 2, episode: 7, episode_type: 'full', views: null }),
      expect.objectContaining({
        duration_seconds: 754,
        season: 3,
        episode: 1.5,
        rating: null,
        media_urls: expect.any(Array),
      }),
      null,
    ]);
  });

  test('items that share an id but not their link or title keep different ids, the same ones in any order', async () => {
    const item = (title: string, link: string, guid: string): string =>
      `<item><title>${title}</title><link>${link}</link>${guid === '' ? '' : `<guid isPermaLink="false">${guid}</guid>`}</item>`;
    const all = [
      item('Release 1', '/1', 'N/A'),
      item('Release 2', '/2', 'N/A'),
      item('Release 3', '/2', 'N/A'),
      item('Release 3', '/2', 'N/A'),
      item('A', '/home', ''),
      item('B', '/home', ''),
      item('Own', '/own', 'own'),
    ];
    const idsOf = async (given: readonly string[]): Promise<readonly string[]> => {
      const body = `<rss version="2.0"><channel><title>F</title>${given.join('')}</channel></rss>`;
      const { records } = await items.run(
        { url: 'https://x.example/f', search: 'none', before: 0 },
        fakeSource(answers({ 'https://x.example/f': { headers: XML, body } })),
        { recordsLeft: Infinity },
      );
      return records.map(({ id }) => id);
    };
    const ids = await idsOf(all);
    expect(ids.map((id) => id.replace(/[0-9a-f]{16}$/, ''))).toEqual([
      'N/A#',
      'N/A#',
      'N/A#',
      'N/A#',
      'https://x.example/home#',
      'https://x.example/home#',
      'own',
    ]);
    expect([new Set(ids).size, ids[2] === ids[3]]).toEqual([6, true]);
    expect(await idsOf(all.toReversed())).toEqual(ids.toReversed());
  });

  test('feed.items continues after a page with as many records as wanted, because the output may reject some', async () => {
    const world = answers({ 'https://coast.example/feed': { headers: XML, body: pageText('feed/rss.xml') } });
    const step = { url: 'https://coast.example/feed', search: 'page', before: 0 };
    const { records, next } = await items.run(step, fakeSource(world), { recordsLeft: 1 });
    expect([records.length, next.length]).toEqual([2, 1]);
  });

  test('feed.items reports that the items of a feed after the first 5,000 were not read', async () => {
    const names = Array.from({ length: 5_001 }, (_, i) => `n${i}`);
    const step = { url: 'https://x.example/f', search: 'page', before: 0 };
    for (const [given, told] of [
      [names, expect.stringContaining('items of https://x.example/f after the first 5000')],
      [names.slice(1), undefined],
    ] as const) {
      const source = fakeSource(answers({ 'https://x.example/f': rss(...given) }));
      const { records, leftOut } = await items.run(step, source, { recordsLeft: Infinity });
      expect([records.length, leftOut]).toEqual([5_000, told]);
    }
  });

  test('feed.items keeps the whole items of a feed that is cut within an item, and reports parse_failed', async () => {
    const step = { url: 'https://x.example/f', search: 'page', before: 0 };
    for (const [file, ends] of [
      ['feed/rss.xml', ['<title>Second', '</channel>', '</rss>']],
      ['feed/atom.xml', ['<title>Deux', '</feed>']],
      ['feed/rdf.xml', ['</rdf:RDF>']],
    ] as const) {
      const body = pageText(file);
      const whole = await items.run(step, fakeSource(answers({ 'https://x.example/f': { headers: XML, body } })), {
        recordsLeft: Infinity,
      });
      expect([file, whole.brokenOff]).toEqual([file, undefined]);
      for (const end of ends) {
        const at = body.lastIndexOf(end);
        const cut = at < 0 ? body.slice(0, body.lastIndexOf('<link')) : body.slice(0, at);
        const source = fakeSource(answers({ 'https://x.example/f': { headers: XML, body: cut } }));
        const { records, brokenOff } = await items.run(step, source, { recordsLeft: Infinity });
        expect([file, end, brokenOff?.reason]).toEqual([file, end, 'parse_failed']);
        expect(records.length).toBeGreaterThan(0);
      }
    }
  });

  test.each([
    [999, 1, undefined],
    [1_000, 0, expect.stringContaining('pages of https://x.example/f after the first 1000')],
  ])('feed.items reports that pages after the first 1,000 were left out: %j', async (before, nextCount, told) => {
    const body = JSON.stringify({
      version: 'https://jsonfeed.org/version/1.1',
      title: 'x',
      next_url: 'https://x.example/g',
      items: [{ id: 1 }],
    });
    const source = fakeSource(
      answers({ 'https://x.example/f': { headers: { 'content-type': 'application/feed+json' }, body } }),
    );
    const step = { url: 'https://x.example/f', search: 'none', before };
    const { next, leftOut } = await items.run(step, source, { recordsLeft: Infinity });
    expect([next.length, leftOut]).toEqual([nextCount, told]);
  });

  test('feed.items ends when a feed names itself as its next page', async () => {
    const body = JSON.stringify({
      version: 'https://jsonfeed.org/version/1.1',
      title: 'x',
      next_url: 'https://x.example/f',
      items: [{ id: 1 }],
    });
    const { source } = await ran(
      items,
      { url: 'https://x.example/f' },
      answers({ 'https://x.example/f': { headers: { 'content-type': 'application/feed+json' }, body } }),
    );
    expect(source.urls).toEqual(['https://x.example/f']);
  });

  test('feed.items finds the feed that a page links to, and skips one that is gone', async () => {
    const page =
      '<link rel="alternate" type="application/rss+xml" href="/gone"><link rel="alternate" type="application/atom+xml" href="/atom">';
    const { fields } = await ran(
      items,
      { url: 'https://x.example/blog' },
      answers({
        'https://x.example/blog': page,
        'https://x.example/atom': { headers: XML, body: pageText('feed/atom.xml') },
      }),
    );
    expect(fields.map(({ title }) => title)).toEqual(['Un', 'Deux']);
  });

  test('feed.items gives items without id and URL a stable id', async () => {
    const body =
      '<rss version="2.0"><channel><item><title>a</title></item><item><title>b</title></item></channel></rss>';
    const world = answers({ 'https://x.example/f': { headers: XML, body } });
    const first = await ran(items, { url: 'https://x.example/f' }, world);
    expect(new Set(first.records.map(({ id }) => id)).size).toBe(2);
    expect((await ran(items, { url: 'https://x.example/f' }, world)).records).toEqual(first.records);
  });

  test('feed.items fails when a page links to no feed, and looks nowhere else', async () => {
    const world = answers({ 'https://x.example/': '<p>hello</p>', 'https://x.example/feed': rss('a') });
    await expect(ran(items, { url: 'https://x.example/' }, world)).rejects.toMatchObject({
      reason: 'source_not_found',
    });
  });
});

describe('company.posts', () => {
  test('company.posts tries common feed locations, those in the folder of the page first', async () => {
    const world = answers({
      'https://x.example/blog': '<p>hello</p>',
      'https://x.example/blog/rss.xml': rss('blog'),
      'https://x.example/feed': rss('root'),
    });
    const { fields, source } = await ran(posts, { url: 'https://x.example/blog' }, world);
    expect(fields.map(({ title }) => title)).toEqual(['blog']);
    expect(source.urls).toEqual([
      'https://x.example/blog',
      'https://x.example/blog/feed',
      'https://x.example/blog/feed/',
      'https://x.example/blog/rss.xml',
    ]);
  });

  test('company.posts does not mistake a page that responds to every URL for a feed', async () => {
    await expect(ran(posts, { url: 'x.example' }, () => '<!doctype html><p>Welcome')).rejects.toMatchObject({
      reason: 'source_not_found',
    });
  });

  test('company.posts fails as retryable when a feed location is temporarily unavailable', async () => {
    const world = ({ url }: { readonly url: string }): FakeReply =>
      url === 'https://x.example/' ? '<p>' : new SourceFailure('timeout', 'slow', true);
    await expect(ran(posts, { url: 'x.example' }, world)).rejects.toMatchObject({ reason: 'timeout', retryable: true });
  });
});
