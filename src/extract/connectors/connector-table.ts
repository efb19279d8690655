import type { Connector } from '../base/connector.ts';
import { appstore } from './appstore.ts';
import { bluesky } from './bluesky.ts';
import { calendar } from './calendar.ts';
import { crossref } from './crossref.ts';
import { discourse } from './discourse.ts';
import { feed } from './feed-connector.ts';
import { generic } from './generic.ts';
import { gitea } from './gitea.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';
import { hackernews } from './hackernews.ts';
import { jobboards } from './jobboards.ts';
import { lemmy } from './lemmy.ts';
import { mastodon } from './mastodon.ts';
import { mediawiki } from './mediawiki.ts';
import { npm } from './npm.ts';
import { openlibrary } from './openlibrary.ts';
import { pypi } from './pypi.ts';
import { shopify } from './shopify.ts';
import { stackexchange } from './stackexchange.ts';
import { woocommerce } from './woocommerce.ts';
import { wordpress } from './wordpress.ts';

/**
 * All connectors, in the order of the catalogue: first those that read any site, then software that many sites run, then single sources by
 * id.
 */
export const CONNECTORS: readonly Connector[] = [
  generic,
  feed,
  calendar,
  discourse,
  gitea,
  gitlab,
  lemmy,
  mastodon,
  mediawiki,
  shopify,
  woocommerce,
  wordpress,
  appstore,
  bluesky,
  crossref,
  github,
  hackernews,
  jobboards,
  npm,
  openlibrary,
  pypi,
  stackexchange,
];

/** Ids of the connectors whose source is the same for all inputs: only these can be read through another address. */
export const CONNECTORS_WITH_BASE: readonly string[] = CONNECTORS.filter(({ hosts }) => hosts !== undefined).map(
  ({ id }) => id,
);
