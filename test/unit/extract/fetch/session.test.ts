import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { isLoginPage, keepsTrust } from '../../../../src/extract/fetch/redirects.ts';
import { createSessionJar, type SessionCookie, type SourceSession } from '../../../../src/extract/fetch/session.ts';
import { failureOf, loopbackClient, startSite, testSource, type Site, type SiteTable } from './site.ts';

const cookie = (name: string, value: string, more: Partial<SessionCookie> = {}): SessionCookie => ({
  name,
  value,
  domain: null,
  path: '/',
  secure: false,
  httpOnly: true,
  expiresAtMs: null,
  ...more,
});
const SESSION: SourceSession = { host: 'shop.example', cookies: [cookie('sid', 's1')], headers: { 'x-csrf': 'c' } };

describe('a session’s jar', () => {
  test('gives cookies to its host and what lies below, and headers to the host alone', () => {
    const jar = createSessionJar(SESSION);
    expect(jar.headersFor('https://shop.example/a')).toEqual({ cookie: 'sid=s1', 'x-csrf': 'c' });
    expect(jar.headersFor('https://www.shop.example/')).toEqual({ cookie: 'sid=s1' });
    for (const url of [
      'https://example/',
      'https://notshop.example/',
      'https://shop.example.evil.example/',
      'https://other.example/',
    ])
      expect([url, jar.headersFor(url)]).toEqual([url, {}]);
  });

  test('keeps cookies to their domain, path, scheme and time', () => {
    const jar = createSessionJar({
      ...SESSION,
      headers: {},
      cookies: [
        cookie('www', '1', { domain: 'www.shop.example' }),
        cookie('path', '1', { path: '/account' }),
        cookie('secure', '1', { secure: true }),
        cookie('old', '1', { expiresAtMs: Date.UTC(2020, 1, 1) }),
      ],
    });
    const names = (url: string): string => jar.headersFor(url)['cookie'] ?? '';
    expect(names('http://shop.example/')).toBe('');
    expect(names('https://shop.example/account/x')).toBe('path=1; secure=1');
    expect(names('https://www.shop.example/')).toBe('www=1; secure=1');
  });

  test('takes the cookies that its host sets, and gives them back once', () => {
    const jar = createSessionJar(SESSION);
    expect(jar.takeCookies()).toBeNull();
    jar.take('https://shop.example/', [
      'sid=s2; Path=/; Domain=shop.example; Secure; HttpOnly; Max-Age=60',
      'nonsense;;',
      `large=${'a'.repeat(5_000)}`,
    ]);
    jar.take('https://other.example/', ['sid=evil']);
    const taken = jar.takeCookies();
    expect(taken?.find(({ name }) => name === 'sid')).toMatchObject({
      value: 's2',
      domain: null,
      path: '/',
      secure: true,
      httpOnly: true,
    });
    expect(taken?.[0]?.expiresAtMs).toBeGreaterThan(Date.now());
    expect(jar.takeCookies()).toBeNull();
    expect(jar.headersFor('https://shop.example/')['cookie']).toContain('sid=s2');
    expect(jar.headersFor('https://shop.example/')['cookie']).not.toContain('large');
  });

  test('forgets a cookie that is taken back, and goes on from what it gave', () => {
    const jar = createSessionJar(SESSION);
    jar.take('https://shop.example/', ['sid=; Max-Age=0; Path=/; Domain=shop.example', 'b=2']);
    const next = createSessionJar({ ...SESSION, cookies: jar.takeCookies() ?? [] });
    expect(next.headersFor('https://shop.example/')['cookie']).toBe('b=2');
  });

  test('holds no more cookies than browsers do', () => {
    const jar = createSessionJar(SESSION);
    for (let i = 0; i < 500; i++) jar.take('https://shop.example/', [`c${i}=1`]);
    expect(jar.takeCookies()?.length).toBeLessThanOrEqual(180);
    expect(jar.headersFor('https://shop.example/')['cookie']).toContain('c499=1');
  });

  test('of an address is bound to that address', () => {
    const jar = createSessionJar({ ...SESSION, host: '127.0.0.1' });
    expect(jar.headersFor('http://127.0.0.1:8080/')).toEqual({ cookie: 'sid=s1', 'x-csrf': 'c' });
    expect(jar.headersFor('http://1.127.0.0.1.example/')).toEqual({});
  });
});

describe('credentials', () => {
  const jar = createSessionJar(SESSION);
  test.each([
    ['https://shop.example/', 'https://shop.example/x', true],
    ['https://shop.example/', 'https://www.shop.example/', true],
    ['http://shop.example/', 'https://shop.example/', true],
    ['https://shop.example/', 'http://shop.example/', false],
    ['https://shop.example/', 'https://shop.example:8443/', false],
    ['https://shop.example/', 'https://other.example/', false],
  ])('from %s to %s: kept %j', (from, to, isKept) => {
    expect(keepsTrust(from, to, jar)).toBe(isKept);
  });

  test('stay at one origin without a session', () => {
    expect(keepsTrust('https://shop.example/', 'https://www.shop.example/', null)).toBe(false);
  });

  test.each([
    ['https://a.example/login', true],
    ['https://a.example/users/sign_in?x', true],
    ['https://a.example/wp-login.php', true],
    ['https://login.a.example/', true],
    ['https://a.example/Account/LogOn', true],
    ['https://a.example/blog/logging-in-forests', false],
    ['https://a.example/?next=login', false],
    ['https://a.example/loginov', false],
  ])('%s is a login page: %j', (url, isLogin) => {
    expect(isLoginPage(url)).toBe(isLogin);
  });
});

describe('a source with a session', () => {
  const client = loopbackClient();
  const sites: Site[] = [];
  afterEach(async () => {
    await Promise.all(sites.splice(0).map((site) => site.close()));
  });
  afterAll(() => client.close());
  const serve = async (table: SiteTable): Promise<Site> => {
    const site = await startSite(table);
    sites.push(site);
    return site;
  };
  const to = (location: string): { status: number; headers: { location: string } } => ({
    status: 302,
    headers: { location },
  });

  test('sends it to its host alone, never to robots.txt, and drops it for good once a redirect leads away', async () => {
    const site = await serve({
      'shop.example/a': () => to(`http://www.shop.example:${site.port}/b`),
      'www.shop.example/b': () => to(`http://evil.example:${site.port}/c`),
      'evil.example/c': () => ({
        ...to(`http://shop.example:${site.port}/d`),
        headers: { location: `http://shop.example:${site.port}/d`, 'set-cookie': 'sid=evil; Domain=shop.example' },
      }),
      'shop.example/d': 'tea',
    });
    const { source } = testSource(client, { session: SESSION });
    await source.page(`${site.at('shop.example')}/a`);
    const sent = site.seen.map(
      ({ host, path, headers }) => [`${host}${path}`, headers.cookie, headers['x-csrf']] as const,
    );
    expect(sent.filter(([where]) => !where?.endsWith('/robots.txt'))).toEqual([
      ['shop.example/a', 'sid=s1', 'c'],
      ['www.shop.example/b', 'sid=s1', undefined],
      ['evil.example/c', undefined, undefined],
      ['shop.example/d', undefined, undefined],
    ]);
    expect(sent.filter(([where, cookies]) => where?.endsWith('/robots.txt') && cookies !== undefined)).toEqual([]);
    expect(source.takeCookies()).toBeNull();
  });

  test('sends what was set on the way, and gives it back', async () => {
    const site = await serve({
      '/a': {
        ...to('/b'),
        headers: { location: '/b', 'set-cookie': ['sid=s2; Path=/; Domain=shop.example', 'seen=1'] },
      },
      '/b': '{}',
    });
    const { source } = testSource(client, { session: SESSION });
    await source.json(`${site.at('shop.example')}/a`).catch(() => {});
    expect(site.seen.at(-1)?.headers.cookie).toBe('sid=s2; seen=1');
    expect(
      source
        .takeCookies()
        ?.map(({ name, value }) => `${name}=${value}`)
        .sort(),
    ).toEqual(['seen=1', 'sid=s2']);
  });

  test('says that it has expired where the source wants a login', async () => {
    const site = await serve({ '/a': to('/login'), '/b': { status: 401 }, '/c': { status: 403 } });
    const { source } = testSource(client, { session: SESSION });
    const url = site.at('shop.example');
    expect(await failureOf(source.json(`${url}/a`))).toEqual(['session_expired', false]);
    expect(await failureOf(source.json(`${url}/b`))).toEqual(['session_expired', false]);
    expect(await failureOf(source.json(`${url}/c`))).toEqual(['access_denied', false]);
    expect(await failureOf(source.json(`${site.at('other.example')}/b`))).toEqual(['login_required', false]);
  });

  test('with a header that cannot be sent fails by itself, with the permit given back', async () => {
    const site = await serve({});
    const { source, open } = testSource(client, { session: { ...SESSION, headers: { 'x-a': 'a\r\nb: c' } } });
    expect(await failureOf(source.json(site.at('shop.example')))).toEqual(['internal_error', false]);
    expect(open()).toBe(0);
    expect(site.seen).toEqual([]);
  });
});
