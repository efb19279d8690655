import type { Connector } from '../base/connector.ts';
import { pageArticle, pageLinks, pageStructured, pageTables } from './generic/page-operations.ts';
import { pageState } from './generic/page-state-operation.ts';
import { placeReviews } from './generic/place-reviews.ts';
import { pageSelect, selectFault, siteSelect } from './generic/select-operations.ts';
import { sitePagesOperation, siteProducts, siteUrls } from './generic/site-operations.ts';
import { overUrls } from './generic/url-list.ts';

/** Source: contract, 11.1: the connector that accepts any URL. */
export const generic: Connector = {
  id: 'generic',
  title: 'Any site',
  description:
    'Any page or site: its text, its tables, its links, its structured data, and fields of your own. If a site runs software with a public interface, that interface is used for the operations that it supports.',
  docsUrl: 'https://schema.org/docs/documents.html',
  terms: {
    termsUrl: null,
    attribution: null,
    ratePolicy:
      'robots.txt and its Crawl-delay are obeyed, and so are the directives noindex and nofollow of pages. Requests are spaced per registrable domain.',
  },
  operations: [
    overUrls(pageArticle),
    overUrls(pageStructured),
    pageLinks,
    overUrls(pageTables),
    pageState,
    overUrls(pageSelect, selectFault),
    siteUrls,
    sitePagesOperation,
    siteSelect,
    siteProducts,
    placeReviews,
  ],
};
