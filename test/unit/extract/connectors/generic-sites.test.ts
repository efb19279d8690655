import { describe, expect, test } from 'vitest';
import {
  SourceFailure,
  type JsonObject,
  type JsonValue,
  type Operation,
  type StepResult,
} from '../../../../src/extract/base/connector.ts';
import { pageArticle } from '../../../../src/extract/connectors/generic/page-operations.ts';
import {
  siteProducts,
  sitePagesOperation,
  siteUrls,
} from '../../../../src/extract/connectors/generic/site-operations.ts';
import { fakeSource, type FakeAnswers, type FakeReply, type FakeSourceOptions } from '../../../support/fake-source.ts';
import { pageText } from '../../../support/pages.ts';
import { ran } from './operation-runs.ts';

const HOME = 'https://site.example/';
const SCOPE = { site: 'site.example', subdomains: false, prefix: '/', include: [], exclude: [] };
const answers = (all: Readonly<Record<string, FakeReply>>): ReadonlyMap<string, FakeReply> =>
  new Map(Object.entries(all));
const urls = (fields: readonly Readonly<Record<string, JsonValue>>[]): readonly JsonValue[] =>
  fields.map(({ url }) => url ?? null);
const XML = { 'content-type': 'application/xml' };
const sitemap = (...paths: readonly string[]): FakeReply => ({
  headers: XML,
  body: `<urlset>${paths.map((path) => `<url><loc>${new URL(path, HOME).href}</loc></url>`).join('')}</urlset>`,
});
const index = (...paths: readonly string[]): FakeReply => ({
  headers: XML,
  body: `<sitemapindex>${paths.map((path) => `<sitemap><loc>${new URL(path, HOME).href}</loc></sitemap>`).join('')}</sitemapindex>`,
});
const links = (...paths: readonly string[]): string =>
  `<html lang=en><title>T</title><body>${paths.map((path) => `<a href="${path}">x</a>`).join(' ')}</body></html>`;

describe('site.urls', () => {
  test('site.urls reads the sitemaps named by robots.txt, and those named by an index', async () => {
    const { fields, source } = await ran(
      siteUrls,
      { url: HOME },
      answers({
        [HOME]: links('/unlisted'),
        'https://site.example/s.xml': index('/s1.xml', '/gone.xml', '/s2.xml'),
        'https://site.example/s1.xml': sitemap('/a', 'https://other.example/b', '/a#again'),
        'https://site.example/s2.xml': sitemap('/c'),
      }),
      { sitemaps: ['https://site.example/s.xml'] },
    );
    expect(urls(fields)).toEqual(['https://site.example/a', 'https://site.example/c']);
    expect(fields[0]?.['found_in']).toBe('sitemap');
    expect(source.urls).not.toContain('https://site.example/sitemap.xml');
  });

  const WARNING =
    '<br />\n<b>Warning</b>:  Undefined array key "x" in <b>/srv/www/plug-in.php</b> on line <b>12</b><br />\n';
  const printed = (reply: FakeReply, before: string): FakeReply => {
    const { body } = reply as { readonly body: string };
    return { headers: { 'content-type': 'text/html' }, body: `${before}<?xml version="1.0" encoding="UTF-8"?>${body}` };
  };

  test('site.urls reads sitemaps that begin with PHP warnings or blank lines, also when given as the start URL', async () => {
    const world = answers({
      [HOME]: links(),
      'https://site.example/s.xml': printed(index('/s1.xml', '/s2.xml'), '\n\n'),
      'https://site.example/s1.xml': printed(sitemap('/a', '/b'), WARNING.repeat(20)),
      'https://site.example/s2.xml': printed(sitemap('/c'), 'Notice: deprecated <!-- cached --> '),
    });
    const { fields } = await ran(siteUrls, { url: HOME }, world, { sitemaps: ['https://site.example/s.xml'] });
    expect(urls(fields)).toEqual(['/a', '/b', '/c'].map((path) => new URL(path, HOME).href));
    const direct = await ran(siteUrls, { url: 'https://site.example/s1.xml' }, world);
    expect(urls(direct.fields)).toEqual(['/a', '/b'].map((path) => new URL(path, HOME).href));
  });

  test('site.urls reports sitemaps of robots.txt that cannot be read, even if links are followed instead', async () => {
    const find = (named: FakeReply): Promise<StepResult> => {
      const world = answers({ [HOME]: links('/l'), 'https://site.example/s.xml': named });
      const source = fakeSource(world, { sitemaps: ['https://site.example/s.xml'] });
      return siteUrls.run({ does: 'begin', url: HOME, scope: SCOPE, depthMax: null }, source, { recordsLeft: 10 });
    };
    const page = '<!doctype html><title>Wait</title>';
    expect((await find(page)).unreadable).toMatchObject([{ reason: 'parse_failed', isFetched: true }]);
    expect((await find('<urlset><url><loc>')).unreadable).toMatchObject([{ reason: 'parse_failed', isFetched: true }]);
    const refused = new SourceFailure('access_denied', 'no', false);
    expect((await find(refused)).unreadable).toMatchObject([{ reason: 'access_denied', isFetched: false }]);
    expect((await find(null)).notes).toMatchObject([{ reason: 'source_not_found' }]);
  });

  test('site.urls keeps the entries of a truncated sitemap and reports parse_failed', async () => {
    const at = 'https://site.example/s.xml';
    const body =
      '<urlset><url><loc>https://site.example/1</loc></url><url><loc>https://site.example/2</loc></url><url><lo';
    const state = { does: 'sitemap', url: at, scope: SCOPE, from: 0, nested: 0, depthLeft: 0 };
    const found = await siteUrls.run(state, fakeSource(answers({ [at]: { headers: XML, body } })), { recordsLeft: 10 });
    expect(found.records.map(({ fields }) => fields['url'])).toEqual([
      'https://site.example/1',
      'https://site.example/2',
    ]);
    expect([found.leftOut, found.brokenOff?.reason]).toEqual([undefined, 'parse_failed']);
  });

  test('site.urls tries the common locations of sitemaps', async () => {
    const { fields } = await ran(
      siteUrls,
      { url: HOME },
      answers({ [HOME]: links(), 'https://site.example/sitemap.xml': sitemap('/a') }),
    );
    expect(urls(fields)).toEqual(['https://site.example/a']);
  });

  test('site.urls follows links when there is no sitemap', async () => {
    const { fields } = await ran(
      siteUrls,
      { url: HOME, max_depth: 1 },
      answers({
        [HOME]: links('/a', '/file.pdf', 'https://other.example/'),
        'https://site.example/a': links('/b', '/'),
        'https://site.example/b': links('/c'),
      }),
    );
    expect(urls(fields)).toEqual([
      HOME,
      'https://site.example/a',
      'https://site.example/file.pdf',
      'https://site.example/b',
    ]);
  });

  test('site.urls accepts a feed or a sitemap as its start URL', async () => {
    const feedAt = 'https://coast.example/feed';
    const { fields } = await ran(
      siteUrls,
      { url: feedAt, path_prefix: '/' },
      answers({ [feedAt]: { headers: XML, body: pageText('feed/rss.xml') } }),
    );
    expect(fields.map(({ url, found_in }) => [url, found_in])).toEqual([
      ['https://coast.example/news/1', 'feed'],
      ['https://coast.example/news/2', 'feed'],
    ]);
  });

  test('site.urls lists all pages of a wiki that has no sitemap', async () => {
    const page = (name: string): JsonValue => ({
      fullurl: `https://wiki.example/wiki/${name}`,
      touched: '2026-01-02T03:04:05Z',
    });
    const { fields, source } = await ran(siteUrls, { url: 'https://wiki.example/' }, ({ url }) => {
      if (url === 'https://wiki.example/') return pageText('platform/mediawiki.page');
      if (!url.startsWith('https://wiki.example/w/api.php')) return null;
      const more = new URL(url).searchParams.get('gapcontinue');
      return {
        body:
          more === null
            ? { continue: { gapcontinue: 'B' }, query: { pages: [page('A')] } }
            : { query: { pages: [page('B')] } },
      };
    });
    expect(fields).toEqual(
      ['A', 'B'].map((name) => ({
        url: `https://wiki.example/wiki/${name}`,
        last_modified: '2026-01-02T03:04:05Z',
        found_in: 'interface',
      })),
    );
    expect(source.requests.filter(({ method }) => method === 'json')).toHaveLength(2);
  });

  test('site.urls skips a sitemap that is gone with a note for the operator, and a page instead of one with a job note', async () => {
    for (const [reply, told] of [
      [null, { notes: [{ reason: 'source_not_found' }] }],
      ['<html><body>Sorry</body></html>', { unreadable: [{ reason: 'parse_failed', isFetched: true }] }],
    ] as const) {
      const step = { does: 'sitemap', url: 'https://site.example/s2.xml', scope: SCOPE, from: 0, nested: 1 };
      const source = fakeSource(answers({ 'https://site.example/s2.xml': reply }));
      const found = await siteUrls.run(step, source, { recordsLeft: Infinity });
      expect(found).toMatchObject({ records: [], next: [], ...told });
      // If a part of it was read, the rest is lost.
      await expect(siteUrls.run({ ...step, from: 10 }, source, { recordsLeft: 1 })).rejects.toThrow(SourceFailure);
    }
  });

  test.each([
    ['source_unavailable', true],
    ['access_denied', false],
    ['unsupported_content', false],
  ] as const)(
    'site.urls fails at a sitemap with %s, because its URLs would be missing',
    async (reason, isRetryable) => {
      const world = answers({
        [HOME]: links(),
        'https://site.example/s.xml': index('/s1.xml', '/s2.xml'),
        'https://site.example/s1.xml': sitemap('/a'),
        'https://site.example/s2.xml': new SourceFailure(reason, 'no', isRetryable),
        'https://site.example/sitemap.xml': sitemap('/b'),
      });
      const named = { sitemaps: ['https://site.example/s.xml'] };
      await expect(ran(siteUrls, { url: HOME }, world, named)).rejects.toMatchObject({ reason });
      // Also if robots.txt names it directly.
      const both = { sitemaps: ['https://site.example/s2.xml', 'https://site.example/s1.xml'] };
      await expect(ran(siteUrls, { url: HOME }, world, both)).rejects.toMatchObject({ reason });
      if (isRetryable) return;
      // If no other sitemap has pages, links are an alternative way to them.
      const alone = answers({
        [HOME]: links('/l'),
        'https://site.example/s2.xml': new SourceFailure(reason, 'no', false),
      });
      const { fields } = await ran(siteUrls, { url: HOME }, alone, { sitemaps: ['https://site.example/s2.xml'] });
      expect(urls(fields)).toContain('https://site.example/l');
    },
  );

  test('site.urls reads all sitemaps of an index and of robots.txt, however many there are', async () => {
    const paths = Array.from({ length: 2_100 }, (_, i) => `/m/${i}.xml`);
    const world = ({ url }: { readonly url: string }): FakeReply => {
      if (url === HOME) return links();
      if (url === 'https://site.example/s.xml') return index(...paths);
      const number = /\/m\/(\d+)\.xml$/.exec(url)?.[1];
      return number === undefined ? null : sitemap(`/page/${number}`);
    };
    const byIndex = await ran(siteUrls, { url: HOME }, world, { sitemaps: ['https://site.example/s.xml'] }, 3_000);
    expect(byIndex.fields).toHaveLength(2_100);
    const named = paths.slice(0, 900).map((path) => new URL(path, HOME).href);
    expect((await ran(siteUrls, { url: HOME }, world, { sitemaps: named })).fields).toHaveLength(900);
  });

  test('site.urls reports what exceeded its limits: nested indexes, sitemaps in robots.txt, links of one page', async () => {
    const find = (state: JsonObject, world: FakeAnswers, options: FakeSourceOptions = {}): Promise<StepResult> =>
      siteUrls.run(state, fakeSource(world, options), { recordsLeft: Infinity });
    const deep = { does: 'sitemap', url: 'https://site.example/s.xml', scope: SCOPE, from: 0, nested: 3 };
    const nested = await find(deep, answers({ 'https://site.example/s.xml': index('/s1.xml') }));
    expect(nested.leftOut).toContain('https://site.example/s.xml');

    const begin = { does: 'begin', url: HOME, scope: SCOPE, depthMax: null };
    const world = answers({ [HOME]: links('/a'), 'https://site.example/0.xml': sitemap('/b') });
    const names = Array.from({ length: 1_000 }, (_, i) => `https://site.example/${i}.xml`);
    expect((await find(begin, world, { sitemaps: names })).leftOut).toContain('robots.txt');
    expect((await find(begin, world, { sitemaps: names.slice(0, 999) })).leftOut).toBeUndefined();

    const many = Array.from({ length: 20_001 }, (_, i) => `/${i}`);
    const page = { does: 'page', url: HOME, scope: SCOPE, depthLeft: 2 };
    const found = await find(page, answers({ [HOME]: links(...many) }));
    expect([found.next.length, found.leftOut]).toEqual([20_000, expect.stringContaining('links')]);
    const fewer = await find(page, answers({ [HOME]: links(...many.slice(0, 19_000)) }));
    expect([fewer.next.length, fewer.leftOut]).toEqual([19_000, undefined]);
    const deepPage = answers({ [HOME]: `${links('/1')}${'<b>'.repeat(600)}${links('/2')}` });
    const cut = await find(page, deepPage);
    expect([cut.next.length, cut.leftOut]).toEqual([1, expect.stringContaining('too deep')]);
    expect((await find({ ...page, depthLeft: 0 }, deepPage)).leftOut).toContain('too deep');
  });

  test('site.urls reports items of a feed after the first 5,000 together with the last part of them', async () => {
    const entries = Array.from({ length: 5_001 }, (_, i) => `<item><link>/${i}</link></item>`).join('');
    const body = `<rss version="2.0"><channel>${entries}</channel></rss>`;
    const world = answers({ 'https://site.example/f': { headers: { 'content-type': 'application/rss+xml' }, body } });
    const state = { does: 'sitemap', url: 'https://site.example/f', scope: SCOPE, from: 0, nested: 0 };
    const [first, last] = await Promise.all(
      [0, 3_000].map((from) => siteProducts.run({ ...state, from }, fakeSource(world), { recordsLeft: Infinity })),
    );
    expect([first?.next.length, first?.leftOut]).toEqual([2_001, undefined]);
    expect([last?.next.length, last?.leftOut]).toEqual([2_000, expect.stringContaining('items')]);
  });

  test('carriesRest is true for the steps of site.urls that read a list', () => {
    const of = { url: HOME, scope: SCOPE };
    const list = { ...of, does: 'list', kind: 'discourse', trail: [], language: null, currency: null };
    const carries = (step: JsonObject): boolean | undefined => siteUrls.carriesRest?.(step);
    expect(carries({ ...of, does: 'page', depthLeft: 1 })).toBe(false);
    expect(carries({ ...of, does: 'sitemap', from: 0, nested: 0 })).toBe(true);
    expect(carries({ ...list, cursor: '3', isThing: false })).toBe(true);
    expect(carries({ ...list, cursor: 'topic 3', isThing: true })).toBe(false);
  });

  test('site.urls returns no more than is wanted of a large sitemap', async () => {
    const all = Array.from({ length: 5_000 }, (_, at) => `/${at}`);
    const world = answers({ [HOME]: links(), 'https://site.example/sitemap.xml': sitemap(...all) });
    expect((await ran(siteUrls, { url: HOME }, world, { limit: 7 })).fields).toHaveLength(7);
    expect((await ran(siteUrls, { url: HOME }, world)).fields).toHaveLength(5_000);
    const huge = Array.from({ length: 51_000 }, (_, at) => `/${at}`);
    const more = answers({ [HOME]: links(), 'https://site.example/sitemap.xml': sitemap(...huge) });
    expect((await ran(siteUrls, { url: HOME }, more)).fields).toHaveLength(51_000);
  });
});

describe('site.pages', () => {
  const long = 'Some words that are long enough to be read, and a few more of them. '.repeat(8);
  const text = (title: string, more: string): string =>
    `<html lang="en"><title>${title}</title><body><nav>Menu</nav><article><p>${long}</p></article>${more}</body></html>`;

  test('site.pages follows links within the folder, up to the requested depth', async () => {
    const root = 'https://site.example/docs/';
    const { fields, source } = await ran(
      sitePagesOperation,
      { url: root, max_depth: 1 },
      answers({
        [root]: text('Root', links('a', '/news', 'b?utm_source=x', '/docs/c', 'gone')),
        [`${root}a`]: text('A', links('deeper')),
        [`${root}b?utm_source=x`]: text('B', links('.')),
        [`${root}c`]: { body: text('C', ''), url: 'https://elsewhere.example/c' },
      }),
    );
    expect(fields.map(({ title }) => title)).toEqual(['Root', 'A', 'B']);
    expect(fields[1]).toMatchObject({ url: `${root}a`, language: 'en', status: 200, text: long.trim() });
    expect(source.urls).not.toContain(`${root}deeper`);
    expect(source.urls).not.toContain('https://site.example/news');
  });

  test('site.pages reports links deeper than the default depth, but not those of a depth that was asked for', async () => {
    const chain = (count: number): FakeAnswers => {
      return new Map(
        Array.from({ length: count }, (_, i) => [`${HOME}${i === 0 ? '' : i}`, text(`${i}`, links(`/${i + 1}`, '/'))]),
      );
    };
    const begin = { does: 'begin', url: HOME, scope: SCOPE };
    const deepest = async (depthMax: number | null): Promise<StepResult> => {
      const source = fakeSource(chain(13));
      let found = await sitePagesOperation.run({ ...begin, depthMax }, source, { recordsLeft: Infinity });
      for (let at = 1; at <= (depthMax ?? 10); at++) {
        const step = found.next.find(({ key }) => key === `${HOME}${at}`);
        if (step === undefined) throw new Error(`page ${at} is not followed`);
        found = await sitePagesOperation.run(step.state, source, { recordsLeft: Infinity });
      }
      return found;
    };
    const [byDefault, asked] = [await deepest(null), await deepest(3)];
    expect([byDefault.next, byDefault.tooDeep]).toEqual([[], [`${HOME}11`, HOME]]);
    expect([asked.next, asked.tooDeep]).toEqual([[], undefined]);
  });

  test('site.pages reads pages from sitemaps and from links, each once', async () => {
    const named = Array.from({ length: 1_500 }, (_, i) => `/orphan/${i}`);
    const { fields, source } = await ran(sitePagesOperation, { url: HOME, exclude: ['/orphan/9'] }, (request) => {
      const { pathname, origin } = new URL(request.url);
      if (origin !== 'https://site.example') return null;
      if (pathname === '/') return text('Home', links('/linked', '/both'));
      if (pathname === '/sitemap.xml') return sitemap(...named, '/both', 'https://other.example/x');
      if (pathname === '/orphan/1') return text('Leads on', links('/behind'));
      return /^\/(?:orphan\/\d+|linked|both|behind)$/.test(pathname) ? text(pathname, '') : null;
    });
    const excluded = named.filter((path) => path.startsWith('/orphan/9')).length;
    expect(fields).toHaveLength(1 + 2 + 1_500 - excluded + 1);
    expect(urls(fields)).toContain('https://site.example/behind');
    expect(new Set(source.urls).size).toBe(source.urls.length);
  });

  test('site.pages reads no sitemap if links suffice for the limit or max_depth is given', async () => {
    const world = answers({
      [HOME]: text('Home', links('/a')),
      'https://site.example/a': text('A', ''),
      'https://site.example/sitemap.xml': sitemap('/b'),
    });
    const enough = await ran(sitePagesOperation, { url: HOME }, world, { limit: 2 });
    const deep = await ran(sitePagesOperation, { url: HOME, max_depth: 3 }, world);
    for (const { source, fields } of [enough, deep]) {
      expect(source.urls).not.toContain('https://site.example/sitemap.xml');
      expect(fields).toHaveLength(2);
    }
  });

  test('site.pages ignores an unavailable /sitemap.xml unless robots.txt names it', async () => {
    const down = new SourceFailure('source_unavailable', 'down', true);
    const world = answers({
      [HOME]: text('Home', ''),
      'https://site.example/sitemap.xml': down,
      'https://site.example/sitemap_index.xml': down,
    });
    expect((await ran(sitePagesOperation, { url: HOME }, world)).fields).toHaveLength(1);
    // A sitemap named by robots.txt exists, and may become available again.
    const named = { sitemaps: ['https://site.example/sitemap.xml'] };
    await expect(ran(sitePagesOperation, { url: HOME }, world, named)).rejects.toMatchObject({
      reason: 'source_unavailable',
    });
  });

  test.each([
    [
      'its main part',
      `<main><p>${long}</p><div class="share"><p>Tell your friends of it, all of them, today.</p></div></main>`,
    ],
    ['nothing', `<div><p>${long}</p><p>${long}</p></div><div><ul><li><a href="/x">More</a></li></ul></div>`],
    [
      'a list of teasers',
      `<main>${`<h2><a href="/t">${long.slice(0, 200)}</a></h2><p>In short.</p>`.repeat(4)}</main><div><p>${long}</p></div>`,
    ],
  ])('site.pages extracts the same text as page.article from a page that marks %s', async (_, body) => {
    const world = answers({ [HOME]: `<html lang="en"><title>T</title><body><nav>Menu</nav>${body}</body></html>` });
    const [site, page] = [
      await ran(sitePagesOperation, { url: HOME }, world),
      await ran(pageArticle, { url: HOME }, world),
    ];
    expect(site.fields[0]?.['text']).toBe(page.fields[0]?.['text']);
    expect(site.fields[0]?.['word_count']).toBe(page.fields[0]?.['word_count']);
  });

  test('site.pages respects the robots directives of pages and links', async () => {
    const { fields, source } = await ran(
      sitePagesOperation,
      { url: HOME },
      answers({
        [HOME]: text(
          'Home',
          '<a href="/noindex">1</a><a href="/nofollow">2</a><a href="/unvouched" rel="nofollow">3</a><a href="/robots">4</a>',
        ),
        'https://site.example/noindex': text('No', '<meta name="robots" content="noindex"><a href="/found">f</a>'),
        'https://site.example/nofollow': {
          headers: { 'x-robots-tag': 'nofollow', 'content-type': 'text/html' },
          body: text('Yes', '<a href="/hidden">h</a>'),
        },
        'https://site.example/found': text('Found', ''),
        'https://site.example/robots': text('Refused', ''),
      }),
      { disallowed: ['https://site.example/robots'] },
    );
    expect(fields.map(({ title }) => title)).toEqual(['Home', 'Yes', 'Found']);
    expect(source.urls).not.toContain('https://site.example/hidden');
    expect(source.urls).not.toContain('https://site.example/unvouched');
  });

  test('site.pages reads a page with several URLs once if the page declares them as equal', async () => {
    const same = text('One', '<link rel="canonical" href="/one">');
    const wrong = text('Two', '<link rel="canonical" href="/">');
    const { fields } = await ran(
      sitePagesOperation,
      { url: HOME },
      answers({
        [HOME]: text('Home', links('/one', '/one?sort=1', '/two')),
        'https://site.example/one': same,
        'https://site.example/one?sort=1': same,
        'https://site.example/two': wrong,
      }),
    );
    expect(fields.map(({ title }) => title)).toEqual(['Home', 'One', 'Two']);
  });

  test('site.pages returns only included pages, but follows links through the others', async () => {
    const { fields } = await ran(
      sitePagesOperation,
      { url: HOME, include: ['/p/*'], exclude: ['*draft*'] },
      answers({
        [HOME]: text('Home', links('/list')),
        'https://site.example/list': text('List', links('/p/1', '/p/draft')),
        'https://site.example/p/1': text('P1', ''),
      }),
    );
    expect(fields.map(({ title }) => title)).toEqual(['P1']);
  });

  test('site.pages fails when its start page fails, or when a page is temporarily unavailable', async () => {
    await expect(ran(sitePagesOperation, { url: HOME }, answers({}))).rejects.toMatchObject({
      reason: 'source_not_found',
    });
    const world = answers({
      [HOME]: text('Home', links('/a')),
      'https://site.example/a': new SourceFailure('source_unavailable', 'down', true),
    });
    await expect(ran(sitePagesOperation, { url: HOME }, world)).rejects.toMatchObject({ reason: 'source_unavailable' });
  });

  const POST = {
    id: 1,
    link: 'https://wp.example/blog/post',
    title: { rendered: 'Post &amp; more' },
    excerpt: { rendered: '<p>Short</p>' },
    content: { rendered: '<p>One</p><p>Two</p>' },
    date_gmt: '2026-01-02T03:04:05',
  };
  const wordpress =
    (isOpen: boolean) =>
    ({ url }: { readonly url: string }): FakeReply => {
      if (url === 'https://wp.example/blog/')
        return pageText('platform/wordpress.page').replace('<body>', '<body><a href="linked">x</a>');
      if (url === 'https://wp.example/blog/linked') return text('Linked', '');
      if (!isOpen || !url.startsWith('https://wp.example/blog/wp-json/wp/v2/')) return null;
      const page = Number(new URL(url).searchParams.get('page'));
      const isPosts = url.includes('/posts?');
      return {
        headers: { 'content-type': 'application/json', 'x-wp-totalpages': isPosts ? '2' : '1' },
        body: isPosts ? [{ ...POST, link: `${POST.link}-${page}` }] : [],
      };
    };

  test('site.pages lists pages and posts through the WordPress interface', async () => {
    const { fields, source } = await ran(sitePagesOperation, { url: 'https://wp.example/blog/' }, wordpress(true));
    expect(fields).toEqual(
      [1, 2].map((page) => ({
        url: `https://wp.example/blog/post-${page}`,
        title: 'Post & more',
        description: 'Short',
        text: 'One\nTwo',
        language: null,
        status: 200,
        published_at: '2026-01-02T03:04:05Z',
        word_count: 2,
        markdown: null,
        html: null,
      })),
    );
    expect(source.urls).not.toContain('https://wp.example/blog/linked');
  });

  test('site.pages requests smaller pages where the WordPress interface refuses the size', async () => {
    const refusing: FakeAnswers = (request) => {
      const size = Number(new URL(request.url).searchParams.get('per_page') ?? 0);
      const refusal = { code: 'rest_invalid_param', data: { params: { per_page: 'at most 20' } } };
      return size > 20 ? { status: 400, body: refusal } : wordpress(true)(request);
    };
    const { fields, source } = await ran(sitePagesOperation, { url: 'https://wp.example/blog/' }, refusing);
    expect(fields).toHaveLength(2);
    expect(source.urls.flatMap((url) => new URL(url).searchParams.get('per_page') ?? [])).toEqual([
      '100',
      '50',
      '20',
      '20',
      '20',
    ]);
  });

  test('site.pages follows links and adds a note when WordPress is configured for another site', async () => {
    const moved: FakeAnswers = (request) => {
      const reply = wordpress(true)(request);
      return typeof reply === 'object' && reply !== null && 'headers' in reply
        ? { ...reply, body: [{ ...POST, link: 'https://www.elsewhere.example/blog/post' }] }
        : reply;
    };
    const { fields } = await ran(sitePagesOperation, { url: 'https://wp.example/blog/' }, moved);
    expect(urls(fields)).toContain('https://wp.example/blog/linked');
    const begin = sitePagesOperation.start({ url: 'https://wp.example/blog/' });
    if (begin.kind !== 'steps') throw new Error(begin.message);
    const first = begin.steps[0]?.state ?? {};
    const { notes } = await sitePagesOperation.run(first, fakeSource(moved), { recordsLeft: Infinity });
    expect(notes).toEqual([
      {
        reason: 'unsupported_content',
        detail: expect.stringContaining('of another site, such as https://www.elsewhere.example/blog/post'),
      },
    ]);
  });

  test('site.pages follows links when WordPress does not respond, and when a depth is given', async () => {
    const closed = await ran(sitePagesOperation, { url: 'https://wp.example/blog/' }, wordpress(false));
    const deep = await ran(sitePagesOperation, { url: 'https://wp.example/blog/', max_depth: 1 }, wordpress(true));
    for (const { fields } of [closed, deep]) expect(urls(fields)).toContain('https://wp.example/blog/linked');
    expect(deep.source.requests.some(({ method }) => method === 'json')).toBe(false);
  });

  test('site.pages lists the topics of a forum through its interface', async () => {
    const { fields } = await ran(sitePagesOperation, { url: 'https://site.example/forum/' }, ({ url }) => {
      if (url === 'https://site.example/forum/') return pageText('platform/discourse.page');
      if (url.endsWith('/latest.json?page=0'))
        return { body: { topic_list: { more_topics_url: '/latest?page=1', topics: [{ id: 5, slug: 'hello' }] } } };
      if (url.endsWith('/latest.json?page=1')) return { body: { topic_list: { topics: [{ id: 6, slug: 'gone' }] } } };
      if (url.endsWith('/t/5.json'))
        return {
          body: {
            slug: 'hello',
            title: 'Hello',
            created_at: '2026-01-02T03:04:05.678Z',
            post_stream: { posts: [{ cooked: '<p>First</p>' }, { cooked: '<p>Second</p>' }] },
          },
        };
      return { status: 404, body: {} };
    });
    expect(fields).toEqual([
      expect.objectContaining({
        url: 'https://site.example/forum/t/hello/5',
        title: 'Hello',
        text: 'First\nSecond',
        published_at: '2026-01-02T03:04:05.678Z',
      }),
    ]);
  });
});

describe('site.products', () => {
  const product = (name: string, more: object = {}): string =>
    `<title>${name}</title><script type="application/ld+json">${JSON.stringify({ '@type': 'Product', name, offers: { price: '5.00', priceCurrency: 'EUR' }, ...more })}</script>`;

  test('site.products reads the pages named by sitemaps, product sitemaps first', async () => {
    const { fields, source } = await ran(
      siteProducts,
      { url: HOME },
      answers({
        [HOME]: links('/cup'),
        'https://site.example/s.xml': index('/pages.xml', '/products.xml'),
        'https://site.example/pages.xml': sitemap('/about'),
        'https://site.example/products.xml': sitemap('/cup', '/pot', '/gone'),
        'https://site.example/about': links('/'),
        'https://site.example/cup': product('Cup', { url: '/cup?ref=1' }) + product('Recommended', { url: '/pot' }),
        'https://site.example/pot': product('Pot'),
      }),
      { sitemaps: ['https://site.example/s.xml'] },
    );
    expect(fields.map(({ url, name, price, currency }) => [url, name, price, currency])).toEqual([
      ['https://site.example/cup', 'Cup', '5.00', 'EUR'],
      ['https://site.example/pot', 'Pot', '5.00', 'EUR'],
    ]);
    const order = source.urls.filter((url) => url.endsWith('s.xml') && url !== 'https://site.example/s.xml');
    expect(order).toEqual(['https://site.example/products.xml', 'https://site.example/pages.xml']);
  });

  test('site.products follows links of the whole site when there is no sitemap', async () => {
    const { fields } = await ran(
      siteProducts,
      { url: 'https://site.example/shop/' },
      answers({ 'https://site.example/shop/': links('/p/1'), 'https://site.example/p/1': product('One') }),
    );
    expect(fields.map(({ name }) => name)).toEqual(['One']);
  });

  const cups =
    (count: number, isOpen = true) =>
    ({ url }: { readonly url: string }): FakeReply => {
      if (url === 'https://cups.example/') return pageText('platform/shopify.page');
      if (url === 'https://cups.example/sitemap.xml')
        return { headers: XML, body: '<urlset><url><loc>https://cups.example/x</loc></url></urlset>' };
      if (url === 'https://cups.example/x') return product('By page');
      if (!isOpen || !url.startsWith('https://cups.example/products.json?limit=250&page=')) return null;
      const page = Number(new URL(url).searchParams.get('page'));
      const ids = Array.from({ length: count }, (_, at) => at).slice((page - 1) * 250, page * 250);
      return {
        body: {
          products: ids.map((id) => ({
            id,
            handle: `cup-${id}`,
            title: 'Cup',
            vendor: 'V',
            body_html: '<p>Nice</p>',
            variants: [
              { sku: 'a', price: '10.00', available: false },
              { sku: 'b', price: '9.00', available: true },
            ],
            images: [{ src: 'https://cdn.example/1.jpg' }],
          })),
        },
      };
    };

  test('site.products lists all products through the Shopify interface', async () => {
    const { fields, source } = await ran(siteProducts, { url: 'https://cups.example/' }, cups(600));
    expect(fields).toHaveLength(600);
    expect(fields[0]).toEqual({
      url: 'https://cups.example/products/cup-0',
      name: 'Cup',
      description: 'Nice',
      sku: 'a',
      gtin: null,
      brand: 'V',
      price: '9.00',
      price_max: '10.00',
      currency: 'GBP',
      availability: 'in_stock',
      image_url: 'https://cdn.example/1.jpg',
      rating: null,
      review_count: null,
    });
    expect(source.requests).toHaveLength(4);
  });

  test('site.products reads pages when Shopify does not respond', async () => {
    const { fields } = await ran(siteProducts, { url: 'https://cups.example/' }, cups(5, false));
    expect(fields.map(({ name }) => name)).toEqual(['By page']);
  });
});

test.each([siteUrls, sitePagesOperation, siteProducts] satisfies readonly Operation[])(
  'the steps of $name stay within the size limit, whatever the input is',
  async (operation) => {
    const pattern = '/'.padEnd(64, 'x');
    const deep = `https://${'a.'.repeat(20)}site.example/${'d'.repeat(300)}/`;
    const input = { url: deep, include: [], exclude: Array.from({ length: 10 }, () => pattern), max_depth: 1 };
    const page = links('p'.repeat(400));
    const { source } = await ran(operation, input, ({ url }) => (url.startsWith(deep) ? page : null));
    expect(source.requests.length).toBeGreaterThan(1);
  },
);
