import { appstoreCases } from './appstore.ts';
import { blueskyCases } from './bluesky.ts';
import { calendarCases } from './calendar.ts';
import { crossrefCases } from './crossref.ts';
import { discourseCases } from './discourse.ts';
import { feedCases } from './feed.ts';
import { genericCases } from './generic.ts';
import { giteaCases } from './gitea.ts';
import { githubCases } from './github.ts';
import { gitlabCases } from './gitlab.ts';
import { hackernewsCases } from './hackernews.ts';
import { jobboardsCases } from './jobboards.ts';
import { lemmyCases } from './lemmy.ts';
import { mastodonCases } from './mastodon.ts';
import { mediawikiCases } from './mediawiki.ts';
import { npmCases } from './npm.ts';
import { openlibraryCases } from './openlibrary.ts';
import { pypiCases } from './pypi.ts';
import { shopifyCases } from './shopify.ts';
import type { SourceCase } from './source-case.ts';
import { stackexchangeCases } from './stackexchange.ts';
import { woocommerceCases } from './woocommerce.ts';
import { wordpressCases } from './wordpress.ts';

/** At least one of each operation. */
export const SOURCE_CASES: readonly SourceCase[] = [
  ...genericCases,
  ...feedCases,
  ...calendarCases,
  ...discourseCases,
  ...giteaCases,
  ...gitlabCases,
  ...lemmyCases,
  ...mastodonCases,
  ...mediawikiCases,
  ...shopifyCases,
  ...woocommerceCases,
  ...wordpressCases,
  ...appstoreCases,
  ...blueskyCases,
  ...crossrefCases,
  ...githubCases,
  ...hackernewsCases,
  ...jobboardsCases,
  ...npmCases,
  ...openlibraryCases,
  ...pypiCases,
  ...stackexchangeCases,
];
