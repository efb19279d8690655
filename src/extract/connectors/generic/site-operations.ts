import type { JsonObject, JsonSchema, Operation, StartResult } from '../../base/connector.ts';
import { parseAddress } from './page-address.ts';
import { SITE_CONTENT_INPUT, SITE_INPUT } from './fields.ts';
import { discoursePages, discourseTopics, mediawikiPages, shopifyProducts, wordpressPages } from './interfaces.ts';
import { scopeOf } from './scope.ts';
import { PAGE_RECORD, pageRecord, PRODUCT_RECORD, productRecords, URL_RECORD, urlRecord } from './site-records.ts';
import { runWalk } from './crawl-steps.ts';
import { carriesCrawlRest, toStep, type Walk, type WalkState } from './crawl.ts';

interface SiteWalkParts {
  readonly name: string;
  readonly description: string;
  /** Default: that of all operations on sites. */
  readonly input?: JsonSchema;
  readonly record: JsonSchema;
  readonly example: { readonly input: JsonObject; readonly record: JsonObject };
  readonly paging: string;
  /** Whether the crawl is not limited to the folder in which it starts. */
  readonly whole: boolean;
  readonly walk: Walk;
  /** Checks what the schema and the address do not. Default: nothing. */
  readonly check?: (input: JsonObject) => Extract<StartResult, { kind: 'fault' }> | null;
}

/** Creates an operation that crawls a site. */
export function siteWalk({ whole, walk, check, input: inputSchema = SITE_INPUT, ...given }: SiteWalkParts): Operation {
  return {
    ...given,
    input: inputSchema,
    tier: 'standard',
    start(input) {
      const address = parseAddress(input);
      if (address.kind === 'fault') return { kind: 'fault', pointer: '/url', message: address.message };
      const depthMax = typeof input['max_depth'] === 'number' ? input['max_depth'] : null;
      const scope = scopeOf(address.url, input, whole);
      const steps = [toStep({ does: 'begin', url: address.url, scope, depthMax })];
      return check?.(input) ?? { kind: 'steps', steps };
    },
    run: (step, source, want) => runWalk(walk, step as WalkState, source, want),
    carriesRest: (step) => carriesCrawlRest(step as WalkState),
  };
}

export const siteUrls: Operation = siteWalk({
  name: 'site.urls',
  description:
    'Addresses of the pages of a site, from the first of these that exists: its sitemaps, the list of its software (MediaWiki, Discourse), the links of its pages.',
  record: URL_RECORD,
  example: {
    input: { url: 'https://www.example.com/', exclude: ['/tag/'] },
    record: { url: 'https://www.example.com/about', last_modified: '2026-01-02T00:00:00Z', found_in: 'sitemap' },
  },
  paging: 'One sitemap at a time, each of at most 50 MB; links one page at a time.',
  whole: false,
  walk: {
    ways: ['sitemaps', 'interface'],
    joinsSitemaps: false,
    interfaces: { mediawiki: mediawikiPages, discourse: discourseTopics },
    firstSitemaps: null,
    read: (_html, page) => [urlRecord({ url: page.url, lastModified: null, foundIn: 'link' })],
    named: urlRecord,
  },
});

export const sitePagesOperation: Operation = siteWalk({
  name: 'site.pages',
  description:
    'The pages of a site with their text. On sites that run WordPress, MediaWiki or Discourse, their interface lists the pages. On other sites, links within the same host and folder are followed, and pages named by sitemaps are read as well.',
  input: SITE_CONTENT_INPUT,
  record: PAGE_RECORD,
  example: {
    input: { url: 'https://www.example.com/docs/', max_depth: 3 },
    record: {
      url: 'https://www.example.com/docs/setup',
      title: 'Setting it up',
      description: 'Five steps to a running service.',
      text: 'Setting it up\nFive steps lead to a running service.',
      language: 'en',
      status: 200,
      published_at: null,
      word_count: 10,
      markdown: null,
      html: null,
    },
  },
  paging: 'One page at a time; through the interface of WordPress, 100 pages a call.',
  whole: false,
  walk: {
    ways: ['interface'],
    joinsSitemaps: true,
    interfaces: { wordpress: wordpressPages, mediawiki: mediawikiPages, discourse: discoursePages },
    firstSitemaps: null,
    read: (html, page, meta, scope) => [pageRecord(html, page, meta, scope)],
    named: null,
  },
});

export const siteProducts: Operation = siteWalk({
  name: 'site.products',
  description:
    'The products of a shop. In stores that run Shopify, its interface lists the products. On other sites, schema.org products in JSON-LD or microdata are read from the pages that sitemaps name or links lead to.',
  record: PRODUCT_RECORD,
  example: {
    input: { url: 'https://shop.example.com/' },
    record: {
      url: 'https://shop.example.com/products/tea-cup',
      name: 'Tea cup',
      description: 'Holds 0.3 l.',
      sku: 'CUP-W',
      gtin: '4006381333931',
      brand: 'Example Pottery',
      price: '12.50',
      price_max: '14.00',
      currency: 'EUR',
      availability: 'in_stock',
      image_url: 'https://shop.example.com/img/cup.jpg',
      rating: 4.5,
      review_count: 12,
    },
  },
  paging: 'One page at a time; through the interface of Shopify, 250 products a call.',
  whole: true,
  walk: {
    ways: ['interface', 'sitemaps'],
    joinsSitemaps: false,
    interfaces: { shopify: shopifyProducts },
    firstSitemaps: /product|item|shop/i,
    read: productRecords,
    named: null,
  },
});
