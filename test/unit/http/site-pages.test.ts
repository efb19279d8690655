import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { ColdHeaders } from '../../../src/kernel/cold-headers.ts';
import type { Exchange } from '../../../src/http/exchange.ts';
import { sitePages, type SiteBuild, type PageTheme } from '../../../src/http/site-pages.ts';
import { HEAD } from '../decide/support.ts';

const INDEX = '<!doctype html>\n<html lang="en" data-theme="system">\n<p data-theme="system">é</p></html>';
const BUILD: SiteBuild = {
  index: INDEX,
  assets: [
    {
      file: 'main-ABC123.js',
      contentType: 'text/javascript; charset=utf-8',
      load: () => ({ identity: Buffer.from('js'), br: Buffer.from('js in brotli'), gzip: Buffer.from('js in gzip') }),
    },
  ],
};

interface Seen {
  readonly status: number;
  readonly fields: string;
  readonly body: Buffer;
  readonly close: boolean;
}

interface Asked {
  readonly method?: string;
  readonly theme?: PageTheme;
  readonly headers?: Readonly<Record<string, string>>;
  readonly contentLength?: number;
  readonly build?: SiteBuild | null;
}

function ask(
  path: string,
  { method = 'GET', theme = 'system', headers = {}, contentLength = -1, build = BUILD }: Asked = {},
): Seen {
  let seen: Seen = { status: 0, fields: '', body: Buffer.alloc(0), close: false };
  let more = '';
  const exchange: Exchange = {
    aborted: false,
    remoteAddress: () => '',
    peerAddress: () => '',
    pauseUntil: () => {},
    readBody: () => {},
    addFields: (lines) => void (more += lines),
    send: (status, fields, body, close = false) =>
      void (seen = { status, fields: fields + more, body: Buffer.from(body), close }),
    sendStream: () => Promise.reject(new Error('too short for this')),
  };
  const cold = new ColdHeaders();
  for (const [name, value] of Object.entries(headers)) cold.add(name, value);
  const pages = sitePages({ path: '/dashboard', build: () => build, themeOf: () => theme, onRefused: () => {} });
  pages({ ...HEAD, method, path, cold, contentLength }, exchange);
  return seen;
}

describe('the pages of a site', () => {
  test.each(['/dashboard', '/dashboard/', '/dashboard/decisions', '/dashboard/decisions/req_1', '/dashboard/assetsx'])(
    '%s is the page, which every request validates again',
    (path) => {
      const { status, fields, body } = ask(path);
      expect([status, body.toString()]).toEqual([200, INDEX]);
      expect(fields).toContain('text/html; charset=utf-8\r\nCache-Control: no-cache\r\nETag: ');
      expect(fields).toContain('\r\nVary: Accept-Encoding');
      expect(fields).toContain('\r\nVary: Cookie');
      expect(fields.match(/X-Content-Type-Options: nosniff/g)).toHaveLength(1);
    },
  );

  test('The page has the theme that the request asks for, in the root element only', () => {
    const pages = (['light', 'dark', 'system'] as const).map((theme) => ask('/dashboard', { theme }));
    expect(pages.map(({ body }) => /<html[^>]*>/.exec(body.toString())?.[0])).toEqual([
      '<html lang="en" data-theme="light">',
      '<html lang="en" data-theme="dark">',
      '<html lang="en" data-theme="system">',
    ]);
    for (const { body } of pages) expect(body.toString()).toContain('<p data-theme="system">é</p>');
    expect(new Set(pages.map(({ fields }) => /ETag: \S+/.exec(fields)?.[0])).size).toBe(3);
  });

  test('The page is compressed for clients that accept it', () => {
    const br = ask('/dashboard', { theme: 'dark', headers: { 'accept-encoding': 'gzip, br' } });
    expect(br.fields).toContain('Content-Encoding: br');
    expect(brotliDecompressSync(br.body).toString()).toContain('data-theme="dark"');
    const gzip = ask('/dashboard', { headers: { 'accept-encoding': 'gzip' } });
    expect(gunzipSync(gzip.body).toString()).toBe(INDEX);
  });

  test('A file is immutable and sent in the encoding of the build', () => {
    const { status, fields, body } = ask('/dashboard/assets/main-ABC123.js', { headers: { 'accept-encoding': 'br' } });
    expect([status, body.toString()]).toEqual([200, 'js in brotli']);
    expect(fields).toContain('text/javascript; charset=utf-8\r\nCache-Control: public, max-age=31536000, immutable');
  });

  test.each([
    '/dashboard/assets/',
    '/dashboard/assets/main.js',
    '/dashboard/assets/main-ABC123.js.br',
    '/dashboard/assets/../manifest.json',
    '/dashboard/assets/%2e%2e/manifest.json',
    '/dashboard/assets/main-ABC123.js/',
    '/dashboard/assets/__proto__',
  ])('%s is no file', (path) => {
    const { status, fields } = ask(path);
    expect(status).toBe(404);
    expect(fields).toContain('X-Content-Type-Options: nosniff');
  });

  test('Other methods are refused, and a body closes the connection', () => {
    expect(ask('/dashboard', { method: 'POST' })).toMatchObject({ status: 405, close: false });
    expect(ask('/dashboard', { method: 'POST' }).fields).toContain('\r\nAllow: GET, HEAD');
    expect(ask('/dashboard', { contentLength: 5 })).toMatchObject({ status: 413, close: true });
    expect(ask('/dashboard', { method: 'HEAD' }).status).toBe(200);
  });

  test('Without a build every path is 404 with the command that makes one', () => {
    const { status, body } = ask('/dashboard', { build: null });
    expect(status).toBe(404);
    expect(JSON.parse(body.toString())).toMatchObject({
      code: 'not_found',
      detail: expect.stringMatching(/npm run build/) as string,
    });
  });
});
