import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A hostile site that names new, long addresses with each answer. */
export interface SwellingSite {
  readonly url: string;
  /** Number of requests so far. */
  readonly requests: number;
  close(): Promise<void>;
}

const NAMED = 5_000;
/** The longest addresses that a crawl follows have 800 characters. */
const PADDING = 'x'.repeat(600);

/**
 * `/index/0` is an index of sitemap indexes, `/index/1` as well, and so on up to `/index/3`, a sitemap; each names 5,000 new addresses.
 * `/links/…` is a page with as many links to pages of the same kind. Any other address is a short page.
 */
export async function startSwellingSite(): Promise<SwellingSite> {
  let requests = 0;
  let named = 0;
  const server = createServer((request, response) => {
    requests++;
    const [, kind = '', depth = ''] = (request.url ?? '').split('/');
    const addresses = (path: string): readonly string[] =>
      Array.from({ length: NAMED }, () => `${url}/${path}/${named++}?${PADDING}`);
    if (kind === 'robots.txt') return void response.writeHead(404).end();
    if (kind === 'index') {
      const isLeaf = depth === '3';
      const [root, item] = isLeaf ? ['urlset', 'url'] : ['sitemapindex', 'sitemap'];
      const entries = addresses(isLeaf ? 'page' : `index/${Number(depth) + 1}`);
      response.writeHead(200, { 'content-type': 'application/xml' });
      return void response.end(
        `<${root}>${entries.map((to) => `<${item}><loc>${to}</loc></${item}>`).join('')}</${root}>`,
      );
    }
    const links = kind === 'links' ? addresses('links').map((to) => `<a href="${to}">Next</a>`) : [];
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<!doctype html><title>Page</title><main><p>A page.</p>${links.join('')}</main>`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    get requests() {
      return requests;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
