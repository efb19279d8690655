import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import type { LongText } from '../../../../src/extract/base/connector.ts';
import type { GuardedClient } from '../../../../src/egress/guarded-client.ts';
import type { EgressError } from '../../../../src/egress/faults.ts';
import type { EgressRequest } from '../../../../src/egress/egress-outcome.ts';
import {
  answer,
  startHostile,
  startResponder,
  type HostileConduct,
  type HostileServer,
} from '../../../support/hostile-server.ts';
import {
  failureOf,
  loopbackClient,
  START_MS,
  startSite,
  testSource,
  type Site,
  type SiteTable,
  type TestSource,
} from './site.ts';

const client = loopbackClient();
/** The default quality of Brotli takes seconds for a few megabytes. */
const FAST = { [constants.BROTLI_PARAM_QUALITY]: 1 };
/** The same for gzip. */
const SOON = { level: 1 };

function failingClient(fault: EgressError): Pick<GuardedClient, 'request'> {
  return { request: () => Promise.resolve({ kind: 'failed', error: fault, detail: '', durationMs: 0 }) };
}

const sites: Site[] = [];
afterEach(async () => {
  await Promise.all(sites.splice(0).map((site) => site.close()));
});
afterAll(() => client.close());

async function serve(
  table: SiteTable,
  more: Parameters<typeof testSource>[1] = {},
): Promise<TestSource & { readonly site: Site; readonly url: string }> {
  const site = await startSite(table);
  sites.push(site);
  return { ...testSource(client, more), site, url: site.at('www.shop.example') };
}

describe('Source.page', () => {
  test('a page is fetched with our user agent, decoded by its charset, and costs one credit of tier standard', async () => {
    const body = Buffer.from('caf\xe9', 'latin1');
    const { source, site, url, permits, open } = await serve({
      '/a': {
        headers: { 'content-type': 'Text/HTML; charset=ISO-8859-1', 'x-list': ['a', 'b'], 'set-cookie': 'a=b' },
        body,
      },
    });
    const page = await source.page(`${url}/a#part`);
    expect(page).toMatchObject({ url: `${url}/a`, status: 200, contentType: 'text/html', text: 'café' });
    expect(page.headers['x-list']).toBe('a, b');
    expect(page.headers['set-cookie']).toBeUndefined();
    expect(site.paths()).toEqual(['/robots.txt', '/a']);
    expect(site.seen[1]?.headers).toMatchObject({
      'user-agent': 'Gatehouse/0.1',
      'accept-encoding': 'gzip, deflate, br',
    });
    expect(source.usage()).toEqual({
      pages: 1,
      credits: 1,
      tier: 'standard',
      errors: 0,
      bytes: 4 + 'nothing here'.length,
    });
    expect(permits).toEqual(['shop.example', 'shop.example']);
    expect(open()).toBe(0);
  });

  test.each([
    ['gzip', gzipSync('tea')],
    ['x-gzip', gzipSync('tea')],
    ['deflate', deflateSync('tea')],
    ['deflate', deflateRawSync('tea')],
    ['br', brotliCompressSync('tea')],
    ['identity', Buffer.from('tea')],
    ['deflate, gzip', gzipSync(deflateSync('tea'))],
    ['none', Buffer.from('tea')],
    ['utf-8', Buffer.from('tea')],
    ['none, UTF-8, text/html, GZIP', gzipSync('tea')],
    ['gzip', gzipSync('tea').subarray(0, -8)],
    ['gzip', Buffer.alloc(0)],
  ])('a page with the content coding %s is decoded', async (coding, body) => {
    const { source, url } = await serve({ '/': { headers: { 'content-encoding': coding }, body } });
    expect((await source.page(url)).text).toBe(body.length === 0 ? '' : 'tea');
  });

  test.each([
    ['in a coding that was not asked for', 'zstd', Buffer.from('x')],
    ['plain text although its coding is gzip', 'gzip', Buffer.from('x')],
    ['a truncated stream', 'gzip', gzipSync('tea'.repeat(100)).subarray(0, -9)],
    ['in too many codings', 'gzip, gzip, gzip', gzipSync(gzipSync(gzipSync('tea')))],
    ['a decompression bomb', 'gzip', gzipSync(Buffer.alloc(9 * 2 ** 20))],
    ['a decompression bomb in Brotli', 'br', brotliCompressSync(Buffer.alloc(9 * 2 ** 20), { params: FAST })],
    ['a nested decompression bomb', 'gzip, gzip', gzipSync(gzipSync(Buffer.alloc(64 * 2 ** 20), SOON))],
    ['larger than a page may be', 'identity', Buffer.alloc(10 * 2 ** 20 + 1, 0x61)],
  ])('a page is rejected when its body is %s', async (_name, coding, body) => {
    const { source, url } = await serve({ '/': { headers: { 'content-encoding': coding }, body } });
    expect(await failureOf(source.page(url))).toEqual(['unsupported_content', false]);
    expect(source.usage()).toMatchObject({ pages: 0, credits: 0, errors: 1, tier: null });
  });

  test.each([
    ['image/png', 'x', false],
    ['application/pdf', 'x', false],
    ['application/json', '{}', false],
    ['text/html', 'a\0b', false],
    ['', '\x89PNG\r\n\0\0', false],
    ['', '<p>', true],
    ['application/xhtml+xml', '<p>', true],
    ['application/atom+xml', '<p>', true],
    ['text/plain', 'tea', true],
    ['text/html', Buffer.from('\uFEFF<p>', 'utf16le'), true],
  ])('a page with the type %j and the body %j is accepted: %j', async (type, body, isTaken) => {
    const { source, url } = await serve({ '/': { headers: { 'content-type': type }, body } });
    const outcome = source.page(url).then(
      () => true,
      (error: { reason: string }) => error.reason,
    );
    expect(await outcome).toBe(isTaken ? true : 'unsupported_content');
  });

  test.each(['file:///etc/passwd', 'ftp://a.example/', 'nonsense', `http://a.example/${'a'.repeat(9_000)}`])(
    'an invalid URL is never fetched: %.20s',
    async (url) => {
      const { source, permits } = testSource(client);
      expect(await failureOf(source.page(url))).toEqual(['unsupported_content', false]);
      expect(permits).toEqual([]);
    },
  );
});

describe('pages that only lead to another one', () => {
  const to = (target: string, content = `0; url=${target}`): string =>
    `<html><head><meta http-equiv="refresh" content="${content}"></head><body>One moment, please.</body></html>`;

  test.each(['0; url=/b', '0;URL="/b"', "3, url='/b'", '1;/b'])(
    'the page that a refresh of %j names is read, and only that one is charged',
    async (content) => {
      const { source, url } = await serve({ '/a': to('', content.replaceAll('"', '&quot;')), '/b': '<p>There</p>' });
      expect(await source.page(`${url}/a`)).toMatchObject({ url: `${url}/b`, text: '<p>There</p>' });
      expect(source.usage()).toMatchObject({ pages: 1, credits: 1, errors: 0 });
    },
  );

  test.each([
    ['reloads itself', to('/a')],
    ['leads on after minutes', to('', '300; url=/b')],
    ['has a text of its own', `${to('/b')}<p>${'A long text. '.repeat(40)}</p>`],
    ['leads those without scripts elsewhere', `<noscript>${to('/b')}</noscript><p>Text</p>`],
    ['names no web address', to('javascript:alert(1)')],
  ])('a page that %s is the page', async (_what, body) => {
    const { source, url, site } = await serve({ '/a': body, '/b': 'There' });
    expect((await source.page(`${url}/a`)).text).toBe(body);
    expect(site.paths()).toEqual(['/robots.txt', '/a']);
  });

  test('such pages that go on and on, and one that leads to a login page, fail with a reason and cost nothing', async () => {
    const { source, url, site } = await serve({
      '/0': to('/1'),
      '/1': to('/2'),
      '/2': to('/3'),
      '/3': to('/0'),
      '/members': to('/login'),
    });
    expect(await failureOf(source.page(`${url}/0`))).toEqual(['source_unavailable', false]);
    expect(site.paths()).toEqual(['/robots.txt', '/0', '/1', '/2', '/3']);
    expect(await failureOf(source.page(`${url}/members`))).toEqual(['login_required', false]);
    expect(source.usage()).toMatchObject({ pages: 0, credits: 0, errors: 2 });
  });

  test('a refresh does not get past the guard or robots.txt', async () => {
    const rules = 'User-agent: *\nDisallow: /private';
    const { source, url } = await serve({
      '/robots.txt': rules,
      '/a': to('http://10.0.0.1/'),
      '/b': to('/private'),
      '/private': 'secret',
    });
    expect(await failureOf(source.page(`${url}/a`))).toEqual(['access_denied', false]);
    expect(await failureOf(source.page(`${url}/b`))).toEqual(['robots_disallowed', false]);
  });
});

describe('response statuses', () => {
  test.each([
    [400, 'source_unavailable', false],
    [401, 'login_required', false],
    [402, 'access_denied', false],
    [403, 'access_denied', false],
    [404, 'source_not_found', false],
    [410, 'source_not_found', false],
    [418, 'source_unavailable', false],
    [429, 'rate_limited_by_source', true],
    [451, 'access_denied', false],
    [500, 'source_unavailable', true],
    [503, 'source_unavailable', true],
    [304, 'source_unavailable', false],
    [302, 'source_unavailable', false],
  ])('the status %i is reported as %s', async (status, reason, retryable) => {
    const { source, url, site } = await serve({ '/': { status } });
    expect(await failureOf(source.json(url))).toEqual([reason, retryable]);
    expect(site.seen).toHaveLength(retryable ? 4 : 1);
    expect(source.usage()).toMatchObject({ pages: 0, credits: 0, errors: 1 });
  });

  test('a status that the caller allows counts as a response and is free', async () => {
    const { source, url } = await serve({
      '/': { status: 404, headers: { 'content-type': 'application/json' }, body: '{"a":1}' },
    });
    expect(await source.json(url, { allowStatuses: [404] })).toMatchObject({ status: 404, body: { a: 1 } });
    expect(source.usage()).toMatchObject({ pages: 0, credits: 0, errors: 0, tier: null });
  });
});

describe('failed attempts', () => {
  test('a failed attempt is repeated after growing waits, and the page costs one credit in total', async () => {
    const { source, url, waits, permits } = await serve({
      '/': (_seen, times) => (times < 3 ? { status: 500 } : { headers: { 'content-type': 'text/plain' }, body: 'tea' }),
    });
    expect((await source.text(url, { robots: false })).text).toBe('tea');
    expect(waits).toEqual([250, 500, 1_000]);
    expect(permits).toHaveLength(4);
    expect(source.usage()).toMatchObject({ pages: 1, credits: 1, errors: 0, tier: 'basic' });
  });

  test.each([
    ['7', 7_000],
    [new Date(START_MS + 9_000).toUTCString(), 9_000],
    [new Date(START_MS - 9_000).toUTCString(), 0],
  ])('a repeated attempt waits as long as Retry-After says: %s', async (value, ms) => {
    const { source, url, waits, reports } = await serve({
      '/': (_seen, times) => (times < 1 ? { status: 429, headers: { 'retry-after': value } } : '{}'),
    });
    await source.json(url);
    expect(waits).toEqual([ms + 250]);
    expect(reports).toEqual([['shop.example', { retryAfterMs: ms }]]);
  });

  test.each(['soon', '-1', '1.5', '2026-11-21'])('the invalid Retry-After %s is ignored', async (value) => {
    const { source, url, waits } = await serve({
      '/': (_seen, times) => (times < 1 ? { status: 503, headers: { 'retry-after': value } } : '{}'),
    });
    await source.json(url);
    expect(waits).toEqual([250]);
  });

  test('a pause of more than a minute is left to the job, and reported to the rate limiter', async () => {
    const { source, url, waits, reports } = await serve({ '/': { status: 429, headers: { 'retry-after': '61' } } });
    await expect(source.json(url)).rejects.toMatchObject({
      reason: 'rate_limited_by_source',
      retryable: true,
      waitMs: 61_000,
    });
    expect(waits).toEqual([]);
    expect(reports).toEqual([['shop.example', { retryAfterMs: 61_000 }]]);
  });

  test.each<[EgressError, string, boolean, number]>([
    ['dns_error', 'source_unavailable', true, 4],
    ['connection_refused', 'source_unavailable', true, 4],
    ['connection_reset', 'source_unavailable', true, 4],
    ['connect_timeout', 'timeout', true, 2],
    ['timeout', 'timeout', true, 2],
    ['tls_error', 'source_unavailable', false, 1],
    ['blocked_address', 'access_denied', false, 1],
    ['response_too_large', 'unsupported_content', false, 1],
    ['bad_response', 'unsupported_content', false, 1],
    ['shutdown', 'source_unavailable', true, 1],
  ])('the network error %s is reported as %s', async (error, reason, retryable, attempts) => {
    const { source, permits, open } = testSource(failingClient(error));
    expect(await failureOf(source.json('https://a.example/'))).toEqual([reason, retryable]);
    expect(permits).toHaveLength(attempts);
    expect(open()).toBe(0);
  });

  test('a blocked address is reported only to the operator', async () => {
    const { source } = testSource(client);
    expect(await failureOf(source.page('http://10.1.2.3/'))).toEqual(['access_denied', false]);
    expect(await failureOf(source.json('http://[::1]:80/'))).toEqual(['access_denied', false]);
  });

  test.each<[HostileConduct, string]>([
    ['refuses', 'source_unavailable'],
    ['resets_at_accept', 'source_unavailable'],
    ['resets_mid_body', 'source_unavailable'],
    ['closes_mid_body', 'source_unavailable'],
    ['garbage', 'unsupported_content'],
    ['bad_chunks', 'unsupported_content'],
    ['server_error', 'source_unavailable'],
    ['huge_body', 'unsupported_content'],
    ['huge_chunked_body', 'unsupported_content'],
    ['huge_headers', 'unsupported_content'],
    ['gzip_bomb', 'unsupported_content'],
    ['tls_self_signed', 'source_unavailable'],
    ['tls_plain', 'source_unavailable'],
  ])('a source that %s fails with %s, and every token is released', async (conduct, reason) => {
    const server = await startHostile(conduct);
    const { source, open } = testSource(client);
    expect((await failureOf(source.json(server.url)))[0]).toBe(reason);
    expect(open()).toBe(0);
    await server.close();
  });

  test('a rejected token fails the fetch with the same error', async () => {
    const refusal = new Error('stopped');
    const polite = { permit: () => Promise.reject(refusal), release: () => {}, report: () => {} };
    await expect(testSource(client, { polite }).source.json('http://a.example/')).rejects.toBe(refusal);
  });
});

describe('redirects', () => {
  const to = (location: string, status = 302): { status: number; headers: { location: string } } => ({
    status,
    headers: { location },
  });

  test('up to five redirects are followed, and the page has its final URL', async () => {
    const { source, url, permits } = await serve({
      '/1': to('/2', 301),
      '/2': to('/3', 303),
      '/3': to('/4', 307),
      '/4': to('/5', 308),
      '/5': to(Buffer.from('6?a=ü').toString('latin1')),
      '/6?a=%C3%BC': 'tea',
    });
    expect(await source.text(`${url}/1`, { robots: false })).toMatchObject({ url: `${url}/6?a=%C3%BC`, text: 'tea' });
    expect(permits).toHaveLength(6);
    expect(source.usage().credits).toBe(1);
  });

  test.each([
    [
      'are more than five',
      { '/1': to('/2'), '/2': to('/3'), '/3': to('/4'), '/4': to('/5'), '/5': to('/6'), '/6': to('/7'), '/7': 'tea' },
    ],
    ['form a loop', { '/1': to('/2'), '/2': to('/1') }],
    ['lead to the same URL', { '/1': to('/1') }],
    ['have no target', { '/1': { status: 302 } }],
    ['lead to another scheme', { '/1': to('file:///etc/passwd') }],
  ])('redirects that %s end the fetch', async (_name, table) => {
    const { source, url, site } = await serve(table);
    expect(await failureOf(source.text(`${url}/1`, { robots: false }))).toEqual(['source_unavailable', false]);
    expect(site.seen.length).toBeLessThanOrEqual(6);
  });

  test('a redirect to a blocked address is not followed', async () => {
    const { source, url } = await serve({ '/': to('http://169.254.169.254/latest/meta-data/') });
    expect(await failureOf(source.json(url))).toEqual(['access_denied', false]);
  });

  test('a redirect to a login page is reported as login_required', async () => {
    const { source, url } = await serve({
      '/a': to('/users/sign_in?next=%2Fa'),
      '/login': to('/login2'),
      '/login2': '{}',
    });
    expect(await failureOf(source.json(`${url}/a`))).toEqual(['login_required', false]);
    expect((await source.json(`${url}/login`)).status).toBe(200);
  });

  test("a caller's key is sent only within its origin on redirects, and other headers anywhere", async () => {
    const { source, site, url } = await serve({
      '/1': to('/2'),
      '/2': (seen) => (seen.host === 'other.example' ? '{}' : to(`http://other.example:${site.port}/2`)),
    });
    await source.json(`${url}/1`, {
      headers: {
        Authorization: 'Bearer x',
        'X-Api-Key': 'k',
        'Accept-Language': 'en',
        Accept: 'application/vnd.x+json',
      },
    });
    expect(
      site.seen.map(({ headers }) => [
        headers.authorization,
        headers['x-api-key'],
        headers['accept-language'],
        headers.accept,
      ]),
    ).toEqual([
      ['Bearer x', 'k', 'en', 'application/vnd.x+json'],
      ['Bearer x', 'k', 'en', 'application/vnd.x+json'],
      [undefined, undefined, 'en', 'application/vnd.x+json'],
    ]);
  });
});

describe('Source.json', () => {
  test.each([
    ['{"a":[1]}', { a: [1] }],
    ['\uFEFF {"a":1}\n', { a: 1 }],
    ['', null],
    ['5', 5],
  ])('the JSON response %j is read', async (body, value) => {
    const { source, url } = await serve({ '/': { headers: { 'content-type': 'text/plain' }, body } });
    expect((await source.json(url)).body).toEqual(value);
  });

  test.each([
    ['truncated', '{"a":', 'application/json', 'parse_failed'],
    ['65 levels deep', '['.repeat(65) + ']'.repeat(65), 'application/json', 'parse_failed'],
    ['100,000 levels deep', '['.repeat(100_000) + ']'.repeat(100_000), 'application/json', 'parse_failed'],
    ['a page', '<!doctype html>', 'application/json', 'unsupported_content'],
    ['a login page', 'Log in, please', 'text/html', 'unsupported_content'],
  ])('a JSON response that is %s is rejected', async (_what, body, type, reason) => {
    const { source, url } = await serve({ '/': { headers: { 'content-type': type }, body } });
    expect(await failureOf(source.json(url))).toEqual([reason, false]);
    expect(source.usage()).toMatchObject({ credits: 0, errors: 1 });
  });

  test('an accepted error status with a page as its body is the failure that its status says', async () => {
    const { source, url } = await serve({ '/': { status: 403, body: '<!doctype html>Blocked' } });
    expect(await failureOf(source.json(url, { allowStatuses: [403] }))).toEqual(['access_denied', false]);
    expect(source.usage()).toMatchObject({ credits: 0, errors: 1 });
  });

  test('a JSON interface is not subject to robots.txt, because it is published', async () => {
    const { source, url, site } = await serve({ '/robots.txt': 'User-agent: *\nDisallow: /', '/a': '{}' });
    expect((await source.json(`${url}/a`)).body).toEqual({});
    expect(site.paths()).toEqual(['/a']);
  });
});

describe('Source.text', () => {
  test('a text that is a gzip file is decompressed, whatever its type is', async () => {
    const { source, url } = await serve({
      '/map.xml.gz': { headers: { 'content-type': 'application/x-gzip' }, body: gzipSync('<urlset/>') },
    });
    expect((await source.text(`${url}/map.xml.gz`)).text).toBe('<urlset/>');
  });

  test.each([
    ['a feed', 'application/rss+xml', '<?xml version="1.0"?><rss><channel/></rss>', 'basic'],
    ['a feed with the type of a page', 'text/html', '<?xml version="1.0"?>\n<!-- by hand -->\n<rss/>', 'basic'],
    ['a JSON feed with the type of a page', 'text/html', ' {"version":"https://jsonfeed.org/version/1.1"}', 'basic'],
    ['a sitemap', 'application/xml', '<urlset xmlns="x"></urlset>', 'basic'],
    ['plain text', 'text/plain', 'https://a.example/', 'basic'],
    ['a page', 'text/html; charset=utf-8', '<p>hello', 'standard'],
    ['a page with the type of a feed', 'application/rss+xml', '\n<!doctype html><p>hello', 'standard'],
    ['a page in XHTML', 'application/xml', '<?xml version="1.0"?><!-- x --><html xmlns="x"/>', 'standard'],
  ])('a text that is %s costs a credit of its own tier', async (_what, type, body, tier) => {
    const { source, url } = await serve({ '/x': { headers: { 'content-type': type }, body } });
    await source.text(`${url}/x`);
    expect(source.usage()).toMatchObject({ pages: 1, credits: 1, tier });
  });

  test('a fetch of tier basic does not lower the tier of an earlier, more expensive one', async () => {
    const { source, url } = await serve({ '/page': '<p>hello', '/feed': '<rss/>' });
    await source.text(`${url}/page`);
    await source.text(`${url}/feed`);
    expect(source.usage()).toMatchObject({ credits: 2, tier: 'standard' });
  });

  test('a text has the same size limit as a page', async () => {
    const { source, url } = await serve({ '/large': Buffer.alloc(12 * 2 ** 20, 0x61).toString() });
    expect(await failureOf(source.text(`${url}/large`))).toEqual(['unsupported_content', false]);
  });
});

describe('Source.longText', () => {
  const lines = (count: number): string =>
    Array.from({ length: count }, (_, i) => `https://shop.example/é/${(i * Math.SQRT2).toString(36)}`).join('\n');
  /** 5 MB, more than a compressor's window, so that repeating it does not improve the compression. */
  const LARGE = lines(150_000);
  const read = async (text: LongText): Promise<string> => {
    let all = '';
    for await (const piece of text.pieces) all += piece;
    return all;
  };

  /** Sends the head of a text; `goOn` sends the rest. */
  const startLong = (bytes: number, header: string, goOn: (socket: Socket) => void): Promise<HostileServer> =>
    startResponder((socket, { head }) => {
      if (head.includes('/robots.txt')) answer(socket, '404 Not Found', '');
      else {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n${header}Content-Length: ${bytes}\r\n\r\n`);
        goOn(socket);
      }
    });

  test.each([
    ['small', lines(3)],
    ['large', LARGE],
  ])('a %s long text is decompressed and read in chunks, whatever its codings', async (_size, text) => {
    const { source, url } = await serve({
      '/plain': { headers: { 'content-type': 'text/plain' }, body: Buffer.from(text) },
      '/gzip': { headers: { 'content-encoding': 'gzip' }, body: gzipSync(text, SOON) },
      '/file.gz': { headers: { 'content-type': 'application/gzip' }, body: gzipSync(text, SOON) },
      '/short.gz': { headers: { 'content-type': 'application/gzip' }, body: gzipSync(text, SOON).subarray(0, -8) },
      '/packed.gz': {
        headers: { 'content-encoding': 'br' },
        body: brotliCompressSync(gzipSync(text, SOON), { params: FAST }),
      },
      '/deflate': { headers: { 'content-encoding': 'deflate' }, body: deflateSync(text, SOON) },
      '/bare': { headers: { 'content-encoding': 'deflate' }, body: deflateRawSync(text, SOON) },
      '/utf-16': {
        headers: { 'content-type': 'text/plain; charset=utf-16le' },
        body: Buffer.from(`\uFEFF${text}`, 'utf16le'),
      },
    });
    for (const path of ['plain', 'gzip', 'file.gz', 'short.gz', 'packed.gz', 'deflate', 'bare', 'utf-16']) {
      const [beginning, whole] = await source.longText(`${url}/${path}`, async (long) => [
        long.beginning,
        await read(long),
      ]);
      expect(beginning).toBe(text.slice(0, 4_096));
      expect([path, whole === text]).toEqual([path, true]);
    }
    expect(source.usage()).toMatchObject({ pages: 8, credits: 8, errors: 0 });
  });

  test('a long text need not be read to its end', async () => {
    const { source, url, open } = await serve({
      '/packed': { headers: { 'content-encoding': 'gzip' }, body: gzipSync(LARGE, SOON) },
      '/plain': { headers: { 'content-type': 'text/plain' }, body: Buffer.from(LARGE.repeat(7)) },
    });
    const firstOf = async ({ pieces }: LongText): Promise<string> => {
      for await (const piece of pieces) return piece;
      return '';
    };
    for (const path of ['packed', 'plain', 'plain'])
      expect(await source.longText(`${url}/${path}`, firstOf)).toMatch(/^https:/);
    expect(source.usage()).toMatchObject({ pages: 3, errors: 0 });
    expect(source.usage().bytes).toBeLessThan(10 * 2 ** 20);
    await expect.poll(open).toBe(0);
    expect(client.stats().inFlight).toBe(0);
  });

  test.each([
    ['', (text: string) => Buffer.from(text)],
    ['Content-Encoding: gzip\r\n', (text: string) => gzipSync(text, SOON)],
  ])('a truncated long text is read again from its beginning: %j', async (header, pack) => {
    const text = LARGE;
    const body = pack(text);
    let times = 0;
    const server = await startLong(body.length, header, (socket) => {
      if (++times < 3) socket.write(body.subarray(0, 1_200_000), () => socket.destroy());
      else socket.end(body);
    });
    const { source, open } = testSource(client);
    const begun: number[] = [];
    const whole = await source.longText(`${server.url}/a`, async (long) => {
      begun.push(long.status);
      return await read(long);
    });
    expect(whole === text).toBe(true);
    expect(begun).toEqual([200, 200, 200]);
    expect(source.usage()).toMatchObject({ pages: 1, credits: 1, errors: 0 });
    expect(open()).toBe(0);
    await server.close();
  });

  test.each([
    ['is truncated each time', (socket: Socket): unknown => socket.destroy(), ['source_unavailable', true], 4],
    ['arrives too slowly', (): unknown => null, ['timeout', true], 2],
  ])('a long text that %s fails', async (_what, goOn, reason, times) => {
    let asked = 0;
    const server = await startLong(3_000_000, '', (socket) => {
      asked++;
      socket.write(LARGE.slice(0, 2_000_000), () => goOn(socket));
    });
    const inHaste = { request: (request: EgressRequest) => client.request({ ...request, timeoutMs: 500 }) };
    const { source, open } = testSource(inHaste);
    expect(await failureOf(source.longText(`${server.url}/a`, read))).toEqual(reason);
    expect(asked).toBe(times);
    expect(source.usage()).toMatchObject({ pages: 0, credits: 0, errors: 1 });
    expect(open()).toBe(0);
    await server.close();
  });

  test('a long text is requested at most four times, whatever fails in turn', async () => {
    let asked = 0;
    const server = await startResponder((socket, { head }) => {
      if (head.includes('/robots.txt')) answer(socket, '404 Not Found', '');
      else if (++asked % 2 === 1) answer(socket, '500 Internal Server Error', '');
      else {
        socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3000000\r\n\r\n');
        socket.write(LARGE.slice(0, 2_000_000), () => socket.destroy());
      }
    });
    const { source } = testSource(client);
    expect(await failureOf(source.longText(`${server.url}/a`, read))).toEqual(['source_unavailable', true]);
    expect(asked).toBe(4);
    await server.close();
  });

  test('a long text keeps the line ends inside it, and drops those after a gzip file', async () => {
    const { source, url } = await serve({
      '/text': { headers: { 'content-type': 'text/plain' }, body: Buffer.from(`${'\n'.repeat(2 ** 21)}a\n\n`) },
      '/file.gz': {
        headers: { 'content-type': 'application/gzip' },
        body: Buffer.concat([gzipSync(randomBytes(2 ** 21).toString('hex')), Buffer.from('\r\n\n')]),
      },
      '/packed.gz': {
        headers: { 'content-encoding': 'gzip' },
        body: gzipSync(Buffer.concat([gzipSync(randomBytes(2 ** 21).toString('hex')), Buffer.from('\r\n')])),
      },
    });
    expect(await source.longText(`${url}/text`, read)).toHaveLength(2 ** 21 + 3);
    expect(await source.longText(`${url}/file.gz`, read)).toHaveLength(2 ** 22);
    expect(await source.longText(`${url}/packed.gz`, read)).toHaveLength(2 ** 22);
  });

  test('a long text that is a page costs a credit of a page', async () => {
    const { source, url } = await serve({ '/a': '<!doctype html><p>There is no sitemap here.' });
    await source.longText(`${url}/a`, read);
    expect(source.usage()).toMatchObject({ credits: 1, tier: 'standard' });
  });

  test.each([
    ['a decompression bomb', 'gzip', gzipSync(Buffer.alloc(60 * 2 ** 20, 'a'), SOON)],
    ['a nested decompression bomb', 'gzip, gzip', gzipSync(gzipSync(Buffer.alloc(60 * 2 ** 20, 'a'), SOON))],
    ['larger than a sitemap may be', 'br', brotliCompressSync(Buffer.from(LARGE.repeat(12)), { params: FAST })],
    ['a truncated stream', 'gzip', gzipSync(LARGE, SOON).subarray(0, 300_000)],
  ])('a long text fails and costs nothing when its body is %s', async (_what, coding, body) => {
    const { source, url } = await serve({ '/a': { headers: { 'content-encoding': coding }, body } });
    expect(await failureOf(source.longText(`${url}/a`, read))).toEqual(['unsupported_content', false]);
    expect(source.usage()).toMatchObject({ pages: 0, credits: 0, errors: 1 });
  });

  test('a long text that is not text is rejected', async () => {
    const { source, url } = await serve({
      '/a': { headers: { 'content-type': 'image/png' }, body: Buffer.alloc(3 * 2 ** 20) },
    });
    expect(await failureOf(source.longText(`${url}/a`, read))).toEqual(['unsupported_content', false]);
  });
});

describe('conditional requests', () => {
  const table: SiteTable = {
    '/': ({ headers }) =>
      headers['if-none-match'] === '"v1"'
        ? { status: 304 }
        : { headers: { etag: '"v1"', 'last-modified': 'x', 'content-encoding': 'gzip' }, body: gzipSync('tea') },
  };

  test('a cached page is requested with its validators, and its body is returned if it has not changed', async () => {
    const { source, url, site } = await serve(table);
    const first = await source.page(url);
    expect(await source.page(url)).toEqual(first);
    expect(site.seen.at(-1)?.headers).toMatchObject({ 'if-none-match': '"v1"', 'if-modified-since': 'x' });
    expect(source.usage()).toMatchObject({ pages: 2, credits: 2 });
  });

  test('a private page is not cached, nor is one fetched with a session or a key', async () => {
    const { source, url, site } = await serve({
      '/p': { headers: { etag: '"v1"', 'cache-control': 'no-store' }, body: '{}', status: 200 },
      '/k': { headers: { etag: '"v1"', 'content-type': 'application/json' }, body: '{}' },
    });
    for (let i = 0; i < 2; i++) await source.text(`${url}/p`, { robots: false });
    for (let i = 0; i < 2; i++) await source.json(`${url}/k`, { headers: { authorization: 'a' } });
    expect(site.seen.filter(({ headers }) => headers['if-none-match'] !== undefined)).toEqual([]);
  });
});

describe('robots.txt', () => {
  test('robots.txt is fetched once per origin and day, and applies to pages and texts', async () => {
    const { source, url, site, pass } = await serve({
      '/robots.txt': 'User-agent: *\nDisallow: /no\nSitemap: /map.xml',
      '/a': 'a',
      '/b': 'b',
    });
    await Promise.all([source.page(`${url}/a`), source.page(`${url}/b`)]);
    expect(await failureOf(source.page(`${url}/no`))).toEqual(['robots_disallowed', false]);
    expect(await failureOf(source.text(`${url}/no`))).toEqual(['robots_disallowed', false]);
    expect(await source.robotsSitemaps(`${url}/x`)).toEqual([`${url}/map.xml`]);
    const asked = (): number => site.paths().filter((path) => path === '/robots.txt').length;
    expect(asked()).toBe(1);
    expect(site.paths()).not.toContain('/no');
    pass(86_400_000);
    await source.page(`${url}/a`);
    expect(asked()).toBe(2);
    expect(source.usage().credits).toBe(3);
  });

  test("robots.txt of each hop's origin applies to redirects", async () => {
    const { source, url, site } = await serve({
      'other.example/robots.txt': 'User-agent: Gatehouse\nDisallow: /secret',
      '/a': ({ host }) => ({
        status: 302,
        headers: { location: `http://other.example:${site.port}/${host === 'other.example' ? 'x' : 'secret'}` },
      }),
    });
    expect(await failureOf(source.page(`${url}/a`))).toEqual(['robots_disallowed', false]);
    expect(site.paths()).not.toContain('/secret');
  });

  test.each([
    [404, true],
    [401, true],
    [403, true],
    [410, true],
  ])('a robots.txt with status %i allows everything', async (status) => {
    const { source, url } = await serve({ '/robots.txt': { status }, '/a': 'tea' });
    expect((await source.page(`${url}/a`)).text).toBe('tea');
  });

  test('robots.txt is followed over five redirects, even to another host, and counts as missing after more', async () => {
    const hop = (n: number): { status: number; headers: { location: string } } => ({
      status: 301,
      headers: { location: `/r${n}` },
    });
    const five: SiteTable = {
      '/robots.txt': hop(1),
      '/r1': hop(2),
      '/r2': hop(3),
      '/r3': hop(4),
      '/r4': hop(5),
      '/r5': 'User-agent: *\nDisallow: /a',
      '/a': 'tea',
    };
    const within = await serve(five);
    expect(await failureOf(within.source.page(`${within.url}/a`))).toEqual(['robots_disallowed', false]);
    const beyond = await serve({ ...five, '/r5': hop(6), '/r6': 'User-agent: *\nDisallow: /a' });
    expect((await beyond.source.page(`${beyond.url}/a`)).text).toBe('tea');
  });

  test('a robots.txt with a server error disallows everything for a while', async () => {
    let isBroken = true;
    const { source, url, pass, site } = await serve({
      '/robots.txt': () => (isBroken ? { status: 503 } : ''),
      '/a': 'tea',
    });
    expect(await failureOf(source.page(`${url}/a`))).toEqual(['robots_disallowed', true]);
    const asked = site.seen.length;
    isBroken = false;
    expect(await failureOf(source.page(`${url}/a`))).toEqual(['robots_disallowed', true]);
    expect(site.seen).toHaveLength(asked);
    pass(15_000);
    expect((await source.page(`${url}/a`)).text).toBe('tea');
  });

  test('an unreachable robots.txt is reported with its cause, and nothing else is fetched', async () => {
    const server = await startHostile('refuses');
    const { source, permits } = testSource(client);
    expect(await failureOf(source.page(`${server.url}/a`))).toEqual(['source_unavailable', true]);
    expect(permits).toHaveLength(4);
    expect(await source.robotsSitemaps(server.url)).toEqual([]);
  });

  test('the crawl delay of robots.txt is reported to the rate limiter with every page', async () => {
    const { source, url, reports } = await serve({ '/robots.txt': 'User-agent: *\nCrawl-delay: 2', '/a': 'tea' });
    await source.page(`${url}/a`);
    await source.page(`${url}/a`);
    expect(reports).toEqual([
      ['shop.example', { crawlDelayMs: 2_000 }],
      ['shop.example', { crawlDelayMs: 2_000 }],
    ]);
  });
});
