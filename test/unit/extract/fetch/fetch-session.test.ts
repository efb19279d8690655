import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { isLoginPage, keepsTrust } from '../../../../src/extract/fetch/redirects.ts';
import { type JobSession, SessionJar } from '../../../../src/extract/fetch/fetch-session.ts';
import type { SourceCookie } from '../../../../src/extract/base/source-session.ts';
import { COOKIES_MAX, withCookieChanges } from '../../../../src/extract/fetch/session-cookies.ts';
import { failureOf, loopbackClient, startSite, testSource, type Site, type SiteTable } from './site.ts';

const cookie = (name: string, value: string, more: Partial<SourceCookie> = {}): SourceCookie => ({
  name,
  value,
  domain: null,
  path: '/',
  secure: false,
  httpOnly: true,
  expiresAtMs: null,
  ...more,
});
const SESSION: JobSession = {
  host: 'shop.example',
  cookies: [cookie('sid', 's1')],
  headers: { 'x-csrf': 'c' },
  origins: ['https://shop.example'],
};
const cookiesFor = (session: JobSession, url: string): string =>
  new SessionJar(session).headersFor(url)['cookie'] ?? '';
/** Returns the session for the next step, after a page has set the cookies. */
function after(session: JobSession, url: string, ...setCookies: string[]): JobSession {
  const jar = new SessionJar(session);
  jar.take(url, setCookies);
  const { origins, ...stored } = session;
  const changes = JSON.stringify(jar.takeChanges() ?? []);
  const changed = withCookieChanges(JSON.stringify(stored), changes, Date.now()) ?? JSON.stringify(stored);
  return { ...(JSON.parse(changed) as Omit<JobSession, 'origins'>), origins };
}

describe('SessionJar', () => {
  test('the jar sends cookies to its host and subdomains, and headers only to the host', () => {
    const jar = new SessionJar(SESSION);
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

  test('the jar restricts cookies to their domain, path, scheme and lifetime', () => {
    const jar = new SessionJar({
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

  test('the jar accepts cookies set by its host, and reports them once', () => {
    const jar = new SessionJar(SESSION);
    expect(jar.takeChanges()).toBeNull();
    jar.take('https://shop.example/', [
      'sid=s2; Path=/; Domain=shop.example; Secure; HttpOnly; Max-Age=60',
      'nonsense;;',
      `large=${'a'.repeat(5_000)}`,
    ]);
    jar.take('https://other.example/', ['sid=evil']);
    const [taken] = jar.takeChanges()?.filter(({ cookie: { name } }) => name === 'sid') ?? [];
    if (taken?.kind !== 'set') throw new Error('nothing was set');
    expect(taken.cookie).toMatchObject({
      value: 's2',
      domain: null,
      hostOnly: false,
      path: '/',
      secure: true,
      httpOnly: true,
    });
    expect(taken.cookie.expiresAtMs).toBeGreaterThan(Date.now());
    expect(jar.takeChanges()).toBeNull();
    expect(jar.headersFor('https://shop.example/')['cookie']).toContain('sid=s2');
    expect(jar.headersFor('https://shop.example/')['cookie']).not.toContain('large');
  });

  test('the jar drops a cookie that is removed, and continues from the reported state', () => {
    const next = after(SESSION, 'https://shop.example/', 'sid=; Max-Age=0; Path=/; Domain=shop.example', 'b=2');
    expect(next.cookies.map(({ name }) => name)).toEqual(['b']);
    expect(cookiesFor(next, 'https://shop.example/')).toBe('b=2');
  });

  test('the jar reports only what the source changed', () => {
    const jar = new SessionJar({ ...SESSION, cookies: [cookie('sid', 's1'), cookie('view', '1')] });
    jar.take('https://shop.example/', ['sid=s1; Path=/; HttpOnly; Domain=shop.example', 'view=2', 'gone=; Max-Age=0']);
    expect(jar.takeChanges()?.map(({ kind, cookie: { name } }) => [kind, name])).toEqual([
      ['set', 'view'],
      ['removed', 'gone'],
    ]);
  });

  test('the jar holds no more cookies than browsers do, and a limited number of changes', () => {
    const jar = new SessionJar(SESSION);
    for (let i = 0; i < 500; i++) jar.take('https://shop.example/', [`c${i}=1`]);
    expect(jar.headersFor('https://shop.example/')['cookie']?.split('; ')).toHaveLength(COOKIES_MAX);
    expect(jar.headersFor('https://shop.example/')['cookie']).toContain('c499=1');
    expect(jar.takeChanges()).toHaveLength(COOKIES_MAX);
    for (let i = 0; i < 1_000; i++) jar.take('https://shop.example/', [`d${i}=1`, `d${i}=; Max-Age=0`]);
    expect(jar.takeChanges()).toHaveLength(2 * COOKIES_MAX);
  });

  test('the jar restricts a cookie without a domain to the host that set it, over several steps', () => {
    const next = after(SESSION, 'https://shop.example/', 'own=1');
    const after2 = after(next, 'https://www.shop.example/', 'low=1; Path=/');
    expect(cookiesFor(after2, 'https://shop.example/')).toBe('sid=s1; own=1');
    expect(cookiesFor(after2, 'https://www.shop.example/')).toBe('sid=s1; low=1');
    expect(cookiesFor(after2, 'https://deep.www.shop.example/')).toBe('sid=s1');
  });

  test.each([
    ['of a top-level domain', 'shop.example', 'https://shop.example/', 'example'],
    ['of a public suffix', 'shop.co.uk', 'https://shop.co.uk/', '.co.uk'],
    ['of a shared hosting platform', 'amazonaws.com', 'https://a.s3.amazonaws.com/', 's3.amazonaws.com'],
    ['of another host', 'shop.example', 'https://www.shop.example/', 'api.shop.example'],
    ['of another site', 'shop.example', 'https://shop.example/', 'other.example'],
    ['of a part of an IP address', '127.0.0.1', 'https://127.0.0.1/', '0.0.1'],
    ['of an invalid domain', 'shop.example', 'https://shop.example/', 'a b'],
  ])('the jar rejects a cookie %s', (_what, host, url, domain) => {
    const session = { ...SESSION, host };
    expect(after(session, url, `evil=1; Domain=${domain}`)).toEqual(session);
  });

  test('the jar restricts a cookie of a domain above its host to its host', () => {
    const session = { ...SESSION, host: 'www.shop.example' };
    const next = after(session, 'https://www.shop.example/', 'sid=s2; Path=/; Domain=.shop.example');
    expect(next.cookies).toMatchObject([{ name: 'sid', value: 's2', domain: null }]);
    expect(cookiesFor(next, 'https://www.shop.example/')).toBe('sid=s2');
    expect(cookiesFor(next, 'https://shop.example/')).toBe('');
  });

  test('a cookie is sent for its whole lifetime, however often it is used', () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      const jar = new SessionJar({ ...SESSION, cookies: [] });
      jar.take('https://shop.example/', ['a=1; Max-Age=100']);
      const sent = [60_000, 39_000, 2_000].map((ms) => {
        vi.setSystemTime(Date.now() + ms);
        return jar.headersFor('https://shop.example/')['cookie'];
      });
      expect(sent).toEqual(['a=1', 'a=1', undefined]);
    } finally {
      vi.useRealTimers();
    }
  });

  test('a cookie is reported with its expiry time', () => {
    const [first] = after(SESSION, 'https://shop.example/', 'a=1; Max-Age=100').cookies.slice(1);
    expect(first?.expiresAtMs).toBeGreaterThan(Date.now());
    expect(first?.expiresAtMs).toBeLessThanOrEqual(Date.now() + 100_000);
    const [, endless] = after(SESSION, 'https://shop.example/', 'a=1; Max-Age=99999999999999999').cookies;
    expect(endless?.expiresAtMs).toBeNull();
  });

  test('a cookie whose name has the __Host- prefix is accepted for its single host', () => {
    const session = { ...SESSION, cookies: [cookie('__Host-sid', '1', { secure: true })] };
    expect(cookiesFor(session, 'https://shop.example/')).toBe('__Host-sid=1');
    expect(cookiesFor(session, 'https://www.shop.example/')).toBe('');
  });

  test('a cookie of an IP address is restricted to that address', () => {
    const jar = new SessionJar({ ...SESSION, host: '127.0.0.1', origins: ['http://127.0.0.1:8080'] });
    expect(jar.headersFor('http://127.0.0.1:8080/')).toEqual({ cookie: 'sid=s1', 'x-csrf': 'c' });
    expect(jar.headersFor('http://1.127.0.0.1.example/')).toEqual({});
  });
});

describe('sessions without https', () => {
  const FULL = { cookie: 'sid=s1', 'x-csrf': 'c' };
  const ONLY_COOKIE = { cookie: 'sid=s1' };
  test.each([
    // Origin named by the job, fetched URL, what is sent there.
    ['https://shop.example', 'http://shop.example/x', {}],
    ['https://shop.example', 'http://www.shop.example/', {}],
    ['https://shop.example', 'https://shop.example/x', FULL],
    ['https://shop.example', 'https://shop.example:8443/', ONLY_COOKIE],
    ['https://shop.example:8443', 'https://shop.example:8443/', FULL],
    ['https://shop.example:8443', 'https://shop.example/', FULL],
    ['https://shop.example:8443', 'http://shop.example:8443/', {}],
    ['http://shop.example', 'http://shop.example/x', FULL],
    ['http://shop.example', 'https://shop.example/x', FULL],
    ['http://shop.example', 'http://shop.example:8080/', ONLY_COOKIE],
    ['http://shop.example:8080', 'http://shop.example:8080/', FULL],
    ['http://shop.example', 'http://www.shop.example/', ONLY_COOKIE],
    ['http://www.shop.example', 'http://shop.example/', FULL],
    ['http://shop.example', 'http://api.shop.example/', {}],
    ['http://api.shop.example', 'http://shop.example/', {}],
    ['http://other.example', 'http://other.example/', {}],
    ['http://other.example:8443', 'https://shop.example:8443/', ONLY_COOKIE],
  ])('a job that names %s sends to %s: %j', (origin, url, headers) => {
    const jar = new SessionJar({ ...SESSION, origins: [origin] });
    expect(jar.headersFor(url)).toEqual(headers);
    expect(jar.goesTo(url)).toBe('cookie' in headers);
  });

  test('a job that names no origin sends nothing without https, and accepts no cookie', () => {
    const jar = new SessionJar({ ...SESSION, origins: [] });
    jar.take('http://shop.example/', ['sid=evil; Path=/; Domain=shop.example']);
    expect([jar.headersFor('http://shop.example/'), jar.takeChanges()]).toEqual([{}, null]);
    expect(jar.headersFor('https://shop.example/')).toEqual(FULL);
  });
});

describe('keepsTrust', () => {
  const jar = new SessionJar(SESSION);
  test.each([
    ['https://shop.example/', 'https://shop.example/x', true],
    ['https://shop.example/', 'https://www.shop.example/', true],
    ['http://shop.example/', 'https://shop.example/', true],
    ['https://shop.example/', 'http://shop.example/', false],
    ['https://shop.example/', 'https://shop.example:8443/', false],
    ['https://shop.example/', 'https://other.example/', false],
  ])('a redirect from %s to %s keeps credentials: %j', (from, to, isKept) => {
    expect(keepsTrust(from, to, jar)).toBe(isKept);
  });

  test('without a session, credentials stay at one origin', () => {
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
  ])('isLoginPage(%s) is %j', (url, isLogin) => {
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
  /** The session of a job that names the site's address. */
  const named = (site: Site): JobSession => ({ ...SESSION, origins: [site.at('shop.example')] });
  const to = (location: string): { status: number; headers: { location: string } } => ({
    status: 302,
    headers: { location },
  });

  test('a session is sent only to its host, never to robots.txt, and no longer once a redirect has led away', async () => {
    const site = await serve({
      'shop.example/a': () => to(`http://www.shop.example:${site.port}/b`),
      'www.shop.example/b': () => to(`http://evil.example:${site.port}/c`),
      'evil.example/c': () => ({
        ...to(`http://shop.example:${site.port}/d`),
        headers: { location: `http://shop.example:${site.port}/d`, 'set-cookie': 'sid=evil; Domain=shop.example' },
      }),
      'shop.example/d': 'tea',
    });
    const { source } = testSource(client, { session: named(site) });
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

  test('cookies set on the way are sent and reported', async () => {
    const site = await serve({
      '/a': {
        ...to('/b'),
        headers: { location: '/b', 'set-cookie': ['sid=s2; Path=/; Domain=shop.example', 'seen=1'] },
      },
      '/b': '{}',
    });
    const { source } = testSource(client, { session: named(site) });
    await source.json(`${site.at('shop.example')}/a`).catch(() => {});
    expect(site.seen.at(-1)?.headers.cookie).toBe('sid=s2; seen=1');
    expect(
      source
        .takeCookies()
        ?.map((change) => (change.kind === 'set' ? `${change.cookie.name}=${change.cookie.value}` : change.kind))
        .sort(),
    ).toEqual(['seen=1', 'sid=s2']);
  });

  test('nothing of a session is sent without https unless the job names that origin', async () => {
    const site = await serve({ '/a': { status: 401, headers: { 'set-cookie': 'sid=evil' } } });
    const { source } = testSource(client, { session: SESSION });
    expect(await failureOf(source.json(`${site.at('shop.example')}/a`))).toEqual(['login_required', false]);
    expect(site.seen.map(({ headers }) => [headers.cookie, headers['x-csrf']])).toEqual([[undefined, undefined]]);
    expect(source.takeCookies()).toBeNull();
  });

  test('a login request of the source is reported as an expired session', async () => {
    const site = await serve({ '/a': to('/login'), '/b': { status: 401 }, '/c': { status: 403 } });
    const { source } = testSource(client, { session: named(site) });
    const url = site.at('shop.example');
    expect(await failureOf(source.json(`${url}/a`))).toEqual(['session_expired', false]);
    expect(await failureOf(source.json(`${url}/b`))).toEqual(['session_expired', false]);
    expect(await failureOf(source.json(`${url}/c`))).toEqual(['access_denied', false]);
    expect(await failureOf(source.json(`${site.at('other.example')}/b`))).toEqual(['login_required', false]);
  });

  test('a header that cannot be sent fails the request and releases the token', async () => {
    const site = await serve({});
    const { source, open } = testSource(client, { session: { ...named(site), headers: { 'x-a': 'a\r\nb: c' } } });
    expect(await failureOf(source.json(site.at('shop.example')))).toEqual(['internal_error', false]);
    expect(open()).toBe(0);
    expect(site.seen).toEqual([]);
  });
});
