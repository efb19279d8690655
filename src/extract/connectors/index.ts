import type { Connector } from '../connector.ts';
import { crossref } from './crossref.ts';
import { discourse } from './discourse.ts';
import { feed } from './feed.ts';
import { generic } from './generic.ts';
import { github } from './github.ts';
import { hackernews } from './hackernews.ts';
import { jobboards } from './jobboards.ts';
import { mastodon } from './mastodon.ts';
import { mediawiki } from './mediawiki.ts';
import { openlibrary } from './openlibrary.ts';
import { shopify } from './shopify.ts';
import { stackexchange } from './stackexchange.ts';
import { wordpress } from './wordpress.ts';

/**
 * All connectors, in the order of the catalogue: those that read any site first, then software that many sites run, then single
 * sources by their ids.
 */
export const CONNECTORS: readonly Connector[] = [
  generic,
  feed,
  discourse,
  mastodon,
  mediawiki,
  shopify,
  wordpress,
  crossref,
  github,
  hackernews,
  jobboards,
  openlibrary,
  stackexchange,
];
