import type { FakeReply } from '../support/fake-source.ts';
import { pageText } from '../support/pages.ts';
import { discourseWorld } from './discourse.ts';
import { genericPageCases } from './generic-pages.ts';
import { mediawikiWorld } from './mediawiki.ts';
import { shopifyWorld } from './shopify.ts';
import { LARGE_PAGES, many, type SourceCase, type World } from './source-case.ts';
import { wordpressWorld } from './wordpress.ts';

/** Addresses of one sitemap, so that a large site has several of them. Source: sitemaps.org, "Sitemap protocol". */
const SITEMAP_SIZE = 500;
/** Number of links on a page that lead to further pages of the site. */
const LINKS = 10;

const WORDS = 'The harbour master counts the boats that come in before the fog does, and writes each of them down. ';

/** Returns a page of a site. If `isWanted` is false, it asks not to be indexed or followed, and is not one of the records. */
function page(title: string, links: readonly string[], isWanted = true): string {
  const robots = isWanted ? '' : '<meta name="robots" content="noindex, nofollow">';
  const listed = links.map((link) => `<li><a href="${link}">${link}</a></li>`).join('');
  return `<!doctype html><html lang="en"><head><title>${title}</title>${robots}</head>
<body><article><h1>${title}</h1><p>${WORDS.repeat(5)}</p></article><ul>${listed}</ul></body></html>`;
}

function xml(body: string): FakeReply {
  return { headers: { 'content-type': 'application/xml' }, body: `<?xml version="1.0" encoding="UTF-8"?>${body}` };
}

const XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"';

/** A site whose `/sitemap.xml` is an index of sitemaps that list its pages; `pageAt` returns the page with an index. */
function sitemapWorld(records: number, pageAt: (place: number) => string): World {
  return ({ url }) => {
    const { pathname } = new URL(url);
    if (pathname === '/') return page('Home', [], false);
    if (pathname === '/sitemap.xml') return sitemapIndex(Math.ceil(records / SITEMAP_SIZE));
    const sitemap = /^\/sitemap-(\d+)\.xml$/.exec(pathname)?.[1];
    if (sitemap !== undefined) return urlset(records, Number(sitemap));
    const place = Number(/^\/page-(\d+)$/.exec(pathname)?.[1]);
    return place < records ? pageAt(place) : null;
  };
}

function sitemapIndex(count: number): FakeReply {
  const all = many(count, (at) => `<sitemap><loc>https://site.example/sitemap-${at}.xml</loc></sitemap>`);
  return xml(`<sitemapindex ${XMLNS}>${all.join('')}</sitemapindex>`);
}

function urlset(records: number, sitemap: number): FakeReply {
  const urls = many(
    records,
    (place) => `<url><loc>https://site.example/page-${place}</loc><lastmod>2026-01-02</lastmod></url>`,
  );
  const shown = urls.slice(sitemap * SITEMAP_SIZE, (sitemap + 1) * SITEMAP_SIZE);
  return xml(`<urlset ${XMLNS}>${shown.join('')}</urlset>`);
}

/** A site whose pages link to each other: the first page to ten others, each of those to ten more, and every page to the first. */
function linkedWorld(records: number): World {
  return ({ url }) => {
    const { pathname } = new URL(url);
    const place = pathname === '/' ? 0 : Number(/^\/page-(\d+)$/.exec(pathname)?.[1]);
    if (records === 0 && place === 0) return page('Closed', ['/page-1'], false);
    if (!(place < records)) return null;
    const further = many(LINKS, (at) => place * LINKS + at + 1).filter((to) => to < records);
    return page(`Page ${place}`, ['/', ...further.map((to) => `/page-${to}`)]);
  };
}

/** Returns software with an API, and the first page that identifies it. If the API has no items, no page is expected. */
function runBy(platform: string, home: string, world: World): World {
  const closed = '<meta name="robots" content="noindex, nofollow">';
  const first = pageText(`platform/${platform}.page`).replace('<head>', `<head>${closed}`);
  return (request) => (new URL(request.url).pathname === home ? first : world(request));
}

/** A WordPress site with posts and without pages, although pages are requested too. */
function blog(records: number): World {
  const options = { prefix: '/blog', host: 'wp.example' };
  const [posts, none] = [wordpressWorld(records, options), wordpressWorld(0, options)];
  return (request) => (request.url.includes('/wp/v2/pages') ? none : posts)(request);
}

function productPage(place: number): string {
  const offers = { '@type': 'Offer', price: '9.50', priceCurrency: 'EUR', availability: 'https://schema.org/InStock' };
  const product = {
    '@context': 'https://schema.org/',
    '@type': 'Product',
    name: `Cup ${place}`,
    sku: `C-${place}`,
    offers,
  };
  return `<!doctype html><title>Cup</title><script type="application/ld+json">${JSON.stringify(product)}</script>`;
}

const WALK = {
  connector: 'generic',
  sizeAsked: null,
  hostIn: 'url',
  paging: 'walk',
  announcesTotal: false,
  input: { url: 'https://site.example/' },
} as const;
/** 301 pages of `linkedWorld`: the first, its 10 links, their 100, and 190 behind those. A crawl must follow links three levels deep. */
const PAGES = { ...WALK, largeCount: 301 } as const;
const LISTED = { ...WALK, paging: 'cursor' } as const;

export const genericCases: readonly SourceCase[] = [
  ...genericPageCases,
  {
    ...WALK,
    operation: 'site.urls',
    world: (records) => sitemapWorld(records, () => page('Listed', [])),
    largeCount: LARGE_PAGES,
  },
  {
    ...LISTED,
    operation: 'site.urls',
    input: { url: 'wiki.example', path_prefix: '/' },
    world: (records) => runBy('mediawiki', '/', mediawikiWorld(records, '/w/api.php', 'wiki.example')),
    largeCount: LARGE_PAGES,
  },
  { ...PAGES, operation: 'site.pages', world: linkedWorld },
  {
    ...LISTED,
    operation: 'site.pages',
    input: { url: 'https://wp.example/blog/', path_prefix: '/' },
    world: (records) => runBy('wordpress', '/blog/', blog(records)),
  },
  {
    ...PAGES,
    operation: 'site.pages',
    input: { url: 'https://site.example/forum/' },
    world: (records) => runBy('discourse', '/forum/', discourseWorld(records, '/forum')),
  },
  {
    ...PAGES,
    operation: 'site.select',
    input: {
      url: 'https://site.example/',
      fields: { title: 'article h1', text: { select: 'article', type: 'lines' } },
    },
    world: linkedWorld,
  },
  { ...PAGES, operation: 'site.products', world: (records) => sitemapWorld(records, productPage) },
  {
    ...LISTED,
    operation: 'site.products',
    input: { url: 'cups.example' },
    world: (records) => runBy('shopify', '/', shopifyWorld(records)),
    largeCount: LARGE_PAGES,
  },
];
