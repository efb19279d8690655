import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { RedirectCookies } from '../../../../src/extract/fetch/redirect-cookies.ts';
import { failureOf, loopbackClient, startSite, testSource, type Site, type SiteTable } from './site.ts';

const client = loopbackClient();
const sites: Site[] = [];
afterEach(async () => {
  await Promise.all(sites.splice(0).map((site) => site.close()));
});
afterAll(() => client.close());

/** Returns the cookies that are sent to `to` after `from` has set one. */
function sent(from: string, setCookie: string, to: string): string {
  const cookies = new RedirectCookies();
  cookies.take(from, [setCookie]);
  return cookies.headerFor(to);
}

describe('RedirectCookies', () => {
  test.each([
    ['http://shop.example/', 'a=1', 'http://shop.example/b'],
    ['http://shop.example/', 'a=1', 'https://shop.example:8443/'],
    ['https://shop.example/', 'a=1; Secure; HttpOnly; SameSite=Strict', 'https://shop.example/'],
    ['https://www.shop.example/', 'a=1; Domain=.shop.example', 'https://m.shop.example/'],
    ['https://shop.github.io/', 'a=1; Domain=shop.github.io', 'https://shop.github.io/'],
    ['http://127.0.0.1/', 'a=1; Domain=127.0.0.1', 'http://127.0.0.1/'],
    ['https://shop.example/x/', 'a=1; Path=/x', 'https://shop.example/x/y'],
  ])('a cookie of %s (%s) is sent to %s', (from, setCookie, to) => {
    expect(sent(from, setCookie, to)).toBe('a=1');
  });

  test.each([
    ['https://shop.example/', 'a=1', 'https://www.shop.example/'],
    ['https://shop.example/', 'a=1', 'https://other.example/'],
    ['https://shop.example/', 'a=1; Domain=other.example', 'https://other.example/'],
    ['https://shop.example/', 'a=1; Domain=example', 'https://other.example/'],
    ['https://shop.co.uk/', 'a=1; Domain=co.uk', 'https://other.co.uk/'],
    ['https://shop.github.io/', 'a=1; Domain=github.io', 'https://other.github.io/'],
    ['http://127.0.0.1/', 'a=1; Domain=0.0.1', 'http://10.0.0.1/'],
    ['https://shop.example/', 'a=1; Secure', 'http://shop.example/'],
    ['https://127.0.0.1/', 'a=1; Secure', 'http://127.0.0.1/'],
    ['http://shop.example/', 'a=1; Secure', 'https://shop.example/'],
    ['https://shop.example/x/', 'a=1; Path=/x', 'https://shop.example/y'],
    ['https://shop.example/', 'a=1; Max-Age=0', 'https://shop.example/'],
    ['https://shop.example/', `a=${'1'.repeat(4_096)}`, 'https://shop.example/'],
  ])('a cookie of %s (%.40s) is not sent to %s', (from, setCookie, to) => {
    expect(sent(from, setCookie, to)).toBe('');
  });

  test('a later redirect can replace and remove a cookie, and many cookies are cut at the size of a request', () => {
    const cookies = new RedirectCookies();
    cookies.take('https://shop.example/', ['a=1', 'b=1', 'c=1']);
    cookies.take('https://shop.example/', ['a=2', 'b=; Max-Age=0']);
    expect(cookies.headerFor('https://shop.example/').split('; ').sort()).toEqual(['a=2', 'c=1']);
    cookies.take(
      'https://shop.example/',
      Array.from({ length: 1_000 }, (_, i) => `n${i}=${'x'.repeat(100)}`),
    );
    expect(cookies.headerFor('https://shop.example/').length).toBeLessThan(10_000);
  });
});

describe('fetches', () => {
  async function serve(table: SiteTable): Promise<Site> {
    const site = await startSite(table);
    sites.push(site);
    return site;
  }
  const cookiesOf = (site: Site): readonly unknown[] =>
    site.seen.filter(({ path }) => path !== '/robots.txt').map(({ path, headers }) => [path, headers.cookie ?? null]);
  const DOOR: SiteTable = {
    '/door': ({ headers }) =>
      headers.cookie === 'seen=1'
        ? { body: 'tea', headers: { etag: '"1"' } }
        : { status: 302, headers: { location: '/door', 'set-cookie': 'seen=1; Path=/' } },
  };

  test('a page that redirects to itself with a cookie is read, and the cookie ends with the fetch', async () => {
    const site = await serve(DOOR);
    const { source } = testSource(client);
    for (let i = 0; i < 2; i++)
      expect(await source.page(`${site.at('shop.example')}/door`)).toMatchObject({ text: 'tea' });
    expect(cookiesOf(site)).toEqual([
      ['/door', null],
      ['/door', 'seen=1'],
      ['/door', null],
      ['/door', 'seen=1'],
    ]);
    expect(source.takeCookies()).toBeNull();
  });

  test('a page that was read with a cookie is not cached for other fetches', async () => {
    const site = await serve(DOOR);
    const { source } = testSource(client);
    for (let i = 0; i < 2; i++) await source.page(`${site.at('shop.example')}/door`);
    expect(site.seen.map(({ headers }) => headers['if-none-match'] ?? null)).not.toContain('"1"');
  });

  test('a redirect that sets a new cookie each time ends after five hops', async () => {
    const site = await serve({
      '/': (_seen, times) => ({ status: 302, headers: { location: '/', 'set-cookie': `n=${times}` } }),
    });
    const { source } = testSource(client);
    expect(await failureOf(source.page(`${site.at('shop.example')}/`))).toEqual(['source_unavailable', false]);
    expect(cookiesOf(site)).toHaveLength(6);
  });

  test('robots.txt gets no cookie of the page, and the page none of robots.txt', async () => {
    const site = await serve({
      ...DOOR,
      '/robots.txt': { body: '', headers: { 'set-cookie': 'robots=1' } },
      '/go': () => ({ status: 302, headers: { location: '/door', 'set-cookie': 'seen=1; Path=/' } }),
    });
    const { source } = testSource(client);
    await source.page(`${site.at('shop.example')}/go`);
    expect(site.seen.map(({ path, headers }) => [path, headers.cookie ?? null])).toEqual([
      ['/robots.txt', null],
      ['/go', null],
      ['/door', 'seen=1'],
    ]);
  });

  test("a redirect's cookie of another host is sent there and not to the session's host, nor the other way round", async () => {
    const site = await serve({
      'shop.example/1': ({ headers }) => ({
        status: 302,
        headers: { location: `http://other.example:${headers.host?.split(':')[1]}/2`, 'set-cookie': 'own=1' },
      }),
      'other.example/2': { status: 302, headers: { location: '/3', 'set-cookie': 'other=1' } },
      'other.example/3': ({ headers }) => ({
        status: 302,
        headers: { location: `http://shop.example:${headers.host?.split(':')[1]}/4` },
      }),
      'shop.example/4': 'tea',
    });
    const url = site.at('shop.example');
    const { source } = testSource(client, {
      session: { host: 'shop.example', cookies: [], headers: { 'x-own': 'h' }, origins: [url] },
    });
    expect(await source.page(`${url}/1`)).toMatchObject({ text: 'tea' });
    expect(
      site.seen
        .filter(({ path }) => path !== '/robots.txt')
        .map(({ path, headers }) => [path, headers.cookie ?? null, headers['x-own'] ?? null]),
    ).toEqual([
      ['/1', null, 'h'],
      ['/2', null, null],
      ['/3', 'other=1', null],
      ['/4', null, null],
    ]);
    expect(source.takeCookies()).toMatchObject([{ kind: 'set', cookie: { name: 'own', value: '1' } }]);
  });
});
