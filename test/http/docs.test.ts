import { readdirSync, readFileSync } from 'node:fs';
import { request, type IncomingHttpHeaders } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { TRANSPORTS } from '../support/requests.ts';
import { startNode } from '../support/server.ts';
import { sharedServer } from '../support/shared-server.ts';

/** The documentation that the server itself serves, and `/`. */

interface Got {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

function ask(url: string, path: string, method = 'GET', headers: Readonly<Record<string, string>> = {}): Promise<Got> {
  return new Promise((resolve, reject) => {
    request(`${url}${path}`, { method, headers, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(pieces) }),
      );
    })
      .on('error', reject)
      .end();
  });
}

const DOCS = new URL('../../docs/', import.meta.url);
const PAGES = [
  ...readdirSync(DOCS),
  ...readdirSync(new URL('decisions/', DOCS)).map((name) => `decisions/${name}`),
].flatMap((name) => (name.endsWith('.md') ? [name.replace(/\.md$/, '')] : []));

describe.each(TRANSPORTS)('the documentation over %s', (transport) => {
  let url = '';
  beforeAll(async () => {
    ({ url } = await sharedServer(transport));
  });

  test('/ redirects to the dashboard where it is on', async () => {
    const { status, headers, body } = await ask(url, '/');
    expect([status, headers.location, body.length]).toEqual([302, '/dashboard', 0]);
    expect((await ask(url, '/', 'HEAD')).status).toBe(302);
    expect((await ask(url, '/', 'POST')).status).toBe(405);
    expect((await ask(url, '//')).status).toBe(404);
  });

  test('Every page of docs is served as HTML and as its own Markdown', async () => {
    expect(PAGES.length).toBeGreaterThan(25);
    for (const page of PAGES) {
      const html = await ask(url, `/docs/${page}`);
      expect([page, html.status, html.headers['content-type']]).toEqual([page, 200, 'text/html; charset=utf-8']);
      const markdown = await ask(url, `/docs/${page}.md`);
      expect([page, markdown.headers['content-type']]).toEqual([page, 'text/markdown; charset=utf-8']);
      expect(markdown.body.equals(readFileSync(new URL(`${page}.md`, DOCS)))).toBe(true);
    }
  });

  test('Every link of a page leads to a page with that anchor, or to a file that is served', async () => {
    const ids = new Map<string, ReadonlySet<string>>();
    const links: (readonly [page: string, href: string])[] = [];
    for (const path of ['/docs', ...PAGES.map((page) => `/docs/${page}`)]) {
      const html = (await ask(url, path)).body.toString();
      ids.set(path, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id)));
      for (const [, href = ''] of html.matchAll(/ (?:href|src)="([^"]+)"/g)) links.push([path, href]);
    }
    expect(links.length).toBeGreaterThan(1_000);
    const broken: string[] = [];
    const known = new Map<string, boolean>();
    for (const [page, href] of links) {
      if (/^(?:https?|mailto):/.test(href)) continue;
      const [path = '', anchor] = href.split('#');
      const target = path === '' ? page : path;
      if (!known.has(target)) known.set(target, (await ask(url, target, 'HEAD')).status === 200);
      if (known.get(target) !== true || (anchor !== undefined && ids.get(target)?.has(anchor) !== true)) {
        broken.push(`${page} ${href}`);
      }
    }
    expect(broken).toEqual([]);
  });

  test('Pages allow no script, style or connection but those of this server, and have none inline', async () => {
    const { headers, body } = await ask(url, '/docs/operating');
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'");
    expect([headers['x-content-type-options'], headers['referrer-policy'], headers['x-frame-options']]).toEqual([
      'nosniff',
      'no-referrer',
      'DENY',
    ]);
    const html = body.toString();
    expect(html).not.toMatch(/<script(?![^>]* src="\/docs\/assets\/)|<style|\son\w+="|\sstyle="/);
    expect((await ask(url, '/docs/nothing')).headers['content-security-policy']).toBe(policy);
  });

  test('Assets are kept for a year, and pages are asked for again', async () => {
    const page = await ask(url, '/docs');
    const [, script = ''] = /<script type="module" src="([^"]+)"/.exec(page.body.toString()) ?? [];
    expect((await ask(url, script)).headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(page.headers['cache-control']).toBe('no-cache');
    const again = await ask(url, '/docs', 'GET', { 'if-none-match': String(page.headers.etag) });
    expect(again.status).toBe(304);
    expect((await ask(url, '/docs/')).status).toBe(200);
  });

  test('llms.txt names every guide with its Markdown, and the index of the search has every page', async () => {
    const llms = (await ask(url, '/llms.txt')).body.toString();
    expect((await ask(url, '/docs/llms.txt')).body.toString()).toBe(llms);
    for (const page of PAGES) expect(llms).toContain(`(/docs/${page}.md)`);
    const index = JSON.parse(
      (await ask(url, '/docs/assets/search.json')).body.toString(),
    ) as readonly (readonly string[])[];
    for (const page of PAGES) expect(index.some(([path = '']) => path.split('#')[0] === `/docs/${page}`)).toBe(true);
  });

  test('Unknown pages, paths that lead elsewhere and other methods are refused', async () => {
    for (const path of [
      '/docs/nothing',
      '/docs/../package.json',
      '/docs/%2e%2e/package.json',
      '/docs/manifest.json',
      '/docs/index.html',
      '/docsx',
    ]) {
      expect([path, (await ask(url, path)).status]).toEqual([path, 404]);
    }
    const posted = await ask(url, '/docs', 'POST');
    expect([posted.status, posted.headers.allow]).toEqual([405, 'GET, HEAD']);
    expect((await ask(url, '/docs/api', 'HEAD')).body.length).toBe(0);
  });
});

test('Without the dashboard / names the documents, and with GATEHOUSE_DOCS=off none is served', async () => {
  const server = await startNode({ env: { GATEHOUSE_DASHBOARD: 'off' } });
  const named = await ask(server.url, '/');
  expect([named.status, named.headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
  for (const [path] of named.body.toString().matchAll(/\/[a-z.]+$/gm)) {
    expect([path, (await ask(server.url, path)).status]).toEqual([path, 200]);
  }
  await server.stop();
  const without = await startNode({ env: { GATEHOUSE_DASHBOARD: 'off', GATEHOUSE_DOCS: 'off' } });
  expect((await ask(without.url, '/')).body.toString()).not.toContain('docs');
  expect([(await ask(without.url, '/docs')).status, (await ask(without.url, '/llms.txt')).status]).toEqual([404, 404]);
  await without.stop();
});
