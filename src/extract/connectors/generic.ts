import type { Connector } from '../connector.ts';
import { pageArticle, pageLinks, pageStructured, pageTables } from './generic/page-operations.ts';
import { placeReviews } from './generic/place-reviews.ts';
import { sitePages, siteProducts, siteUrls } from './generic/site-operations.ts';

/** Source: contract, 11.1: the connector that accepts any URL. */
export const generic: Connector = {
  id: 'generic',
  title: 'Any site',
  description:
    'Any page or site: its text, tables, links and what it says for machines. Where a site runs software with a public interface, that is asked where it serves the operation.',
  docsUrl: 'https://schema.org/docs/documents.html',
  terms: {
    termsUrl: null,
    attribution: null,
    ratePolicy:
      'robots.txt and its Crawl-delay hold, and so do the wishes of pages not to be indexed or followed. Requests are spaced per registrable domain.',
  },
  operations: [pageArticle, pageStructured, pageLinks, pageTables, siteUrls, sitePages, siteProducts, placeReviews],
};
