import { hash } from 'node:crypto';
import {
  SourceFailure,
  type Connector,
  type FoundRecord,
  type JsonObject,
  type Operation,
  type Page,
  type Source,
  type Step,
  type StepResult,
} from '../base/connector.ts';
import { contentFormsOf, markedContentIn, type ContentForm } from '../read/content-forms.ts';
import { readFeedLinks } from '../read/feed-links.ts';
import type { FeedExtensions } from '../read/feed-extensions.ts';
import { FEED_ITEMS_MAX, looksLikeFeed } from '../read/feed-parse.ts';
import { readFeed, type Feed, type FeedItem } from '../read/feed.ts';
import { readHtml } from '../read/html.ts';
import { absoluteUrl, normalisedUrl } from '../read/urls.ts';
import { PAGE_URL_CHARACTERS_MAX, parseAddress } from './generic/page-address.ts';
import { CONTENT, CONTENT_FIELDS, PAGE_URL } from './generic/fields.ts';
import { brokenOffNote } from './generic/truncated.ts';
import * as schema from './kit/schema.ts';

const ITEM = schema.recordSchema({
  id: schema.idField(
    'The id that the feed gives it; without one, its address. An id that the feed gives to different items is followed by a hash of address and title.',
  ),
  url: schema.urlField('The item on its site.'),
  title: schema.textField('Without markup.'),
  authors: schema.textsField('Names.'),
  published_at: schema.dateField('When it was published.'),
  updated_at: schema.dateField('When it was last changed.'),
  summary: schema.textField('Plain text.'),
  text: schema.textField('The whole content as plain text, if the feed contains it.'),
  categories: schema.textsField('Its tags in the feed.'),
  image_url: schema.urlField('Its image.'),
  enclosures: schema.objectsField('Attached files, such as episodes of a podcast.', {
    url: schema.urlField('The file.'),
    type: schema.textField('Its media type.'),
    bytes: schema.countField('Its size.'),
  }),
  feed_url: schema.urlField('The feed.'),
  feed_title: schema.textField('Title of the feed.'),
  extensions: schema.objectField(
    'What feeds of certain kinds say besides; null without any of it. Texts have at most 200 characters, and there are at most 20 media.',
    {
      views: schema.countField('Views of a video, as YouTube and Media RSS count them.'),
      rating: schema.numberField('0 to 100; stars of an App Store review are 1 to 5.'),
      rating_count: schema.countField('How many rated it.'),
      version: schema.textField('Version of the app that an App Store review is about.'),
      duration_seconds: schema.countField('Of an episode or a video.'),
      season: schema.countField('Of a podcast.'),
      episode: schema.numberField('Its number in a podcast.'),
      episode_type: schema.textField('`full`, `trailer` or `bonus`.'),
      doi: schema.textField('Of a paper, without `doi:` or the address of a resolver.'),
      pdf_url: schema.urlField('Its PDF, as arXiv links it.'),
      media_urls: schema.textsField('Media that are no enclosures. Absolute.'),
      form_type: schema.textField('Of an EDGAR filing, such as `10-K`.'),
    },
  ),
  ...CONTENT_FIELDS,
});

const EXAMPLE: JsonObject = {
  id: 'coast-1',
  url: 'https://www.example.com/news/1',
  title: 'Ferries delayed',
  authors: ['Ada Quist'],
  published_at: '2026-03-02T13:15:00Z',
  updated_at: null,
  summary: 'Fog on the sound.',
  text: 'Fog on the sound.\nNo boats till noon.',
  categories: ['Ferries'],
  image_url: null,
  enclosures: [{ url: 'https://www.example.com/audio/1.mp3', type: 'audio/mpeg', bytes: 1_234 }],
  feed_url: 'https://www.example.com/feed',
  feed_title: 'Harbour and coast',
  extensions: {
    views: null,
    rating: null,
    rating_count: null,
    version: null,
    duration_seconds: 1_860,
    season: 2,
    episode: 7,
    episode_type: 'full',
    doi: null,
    pdf_url: null,
    media_urls: null,
    form_type: null,
  },
  markdown: null,
  html: null,
};

/** Common locations of feeds to which no page links, in the order in which they are tried. */
const USUAL_PLACES = [
  'feed',
  'feed/',
  'rss.xml',
  'atom.xml',
  'feed.xml',
  'index.xml',
  'rss',
  'feed.json',
  'blog/feed',
  'blog/rss.xml',
  'blog/atom.xml',
  'news/feed',
];
const ACCEPT =
  'application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, application/xml;q=0.8, text/*;q=0.7, */*;q=0.1';
/** Choice: maximum number of linked feeds that are tried. The first one that is a feed is used. */
const NAMED_FEEDS_MAX = 5;
/** Choice: a feed with more pages than this is cyclic, or an archive that a sitemap lists better. */
const PAGES_MAX = 1_000;

/** One page of a feed or, with `search`, a page on which to look for a feed. */
interface FeedState extends JsonObject {
  readonly url: string;
  readonly search: 'none' | 'page' | 'site';
  /** Number of pages of the feed before this one. */
  readonly before: number;
  /** Forms of the items' content that are wanted, if the input names them. */
  readonly content?: readonly ContentForm[];
}

function toStep(state: FeedState): Step {
  return { key: `${state.search === 'none' ? 'feed' : 'begin'} ${normalisedUrl(state.url)}`, state };
}

function feedOperation(told: Pick<Operation, 'name' | 'description' | 'example'>, search: 'page' | 'site'): Operation {
  const what = search === 'page' ? 'Address of a feed, or of a page that links to one.' : 'Website of the company.';
  return {
    ...told,
    input: schema.inputSchema(
      { url: { ...PAGE_URL, description: `${what} A bare host name means https.` }, content: CONTENT },
      ['url'],
    ),
    record: ITEM,
    // The first request for a company's website fetches a page.
    tier: search === 'site' ? 'standard' : 'basic',
    paging: 'A feed is read in one call; a feed that names a next page (RFC 5005, JSON Feed) is read page by page.',
    start(input) {
      const address = parseAddress(input);
      if (address.kind === 'fault') return { kind: 'fault', pointer: '/url', message: address.message };
      const content = input['content'] === undefined ? {} : { content: contentFormsOf(input['content']) };
      return { kind: 'steps', steps: [toStep({ url: address.url, search, before: 0, ...content })] };
    },
    run: (step, source) => runStep(step as FeedState, source),
    carriesRest: (step) => (step as FeedState).before > 0,
  };
}

async function runStep(state: FeedState, source: Source): Promise<StepResult> {
  const page = await source.text(state.url, { accept: ACCEPT });
  if (state.search === 'none' || looksLikeFeed(page.text)) return fromFeed(page, state);
  const places = placesOf(page, state.search);
  for (const url of places) {
    const found = await tryFeed(url, source);
    if (found !== null) return fromFeed(found, { ...state, url });
  }
  throw new SourceFailure('source_not_found', `${page.url} names no readable feed`, false);
}

/** Returns the feeds to which the page links; for a whole site also the common locations, first in the page's folder. */
function placesOf(page: Page, search: FeedState['search']): readonly string[] {
  const named = readFeedLinks(readHtml(page.text, page.url))
    .slice(0, NAMED_FEEDS_MAX)
    .map(({ url }) => url);
  if (search !== 'site') return named;
  const { origin, pathname } = new URL(page.url);
  const folder = new URL(pathname.endsWith('/') ? pathname : `${pathname}/`, origin).href;
  const places = USUAL_PLACES.flatMap((place) => absoluteUrl(place, folder) ?? []);
  return [
    ...new Set([...named, ...places, ...USUAL_PLACES.flatMap((place) => absoluteUrl(`/${place}`, origin) ?? [])]),
  ];
}

/** Returns null if there is no feed at that location. A retryable failure is thrown and fails the job. */
async function tryFeed(url: string, source: Source): Promise<Page | null> {
  try {
    const page = await source.text(url, { accept: ACCEPT });
    return looksLikeFeed(page.text) ? page : null;
  } catch (error) {
    if (error instanceof SourceFailure && !error.retryable) return null;
    throw error;
  }
}

function fromFeed(page: Page, state: FeedState): StepResult {
  const feed = readFeed(page.text, page.url);
  const shared = sharedIds(feed.items);
  const forms = contentFormsOf(state.content);
  const records = feed.items.map((item) => toRecord(item, forms, shared, feed, page.url));
  const nextUrl = records.length > 0 ? nextOf(feed, page.url) : null;
  const goesOn = state.before < PAGES_MAX;
  const next =
    goesOn && nextUrl !== null ? [toStep({ ...state, url: nextUrl, search: 'none', before: state.before + 1 })] : [];
  const isTooLong = !goesOn && nextUrl !== null;
  return {
    records,
    next,
    total: null,
    ...(isTooLong && { leftOut: `pages of ${state.url} after the first ${PAGES_MAX}` }),
    ...(feed.breaksOff && { brokenOff: brokenOffNote(page.url) }),
    ...(feed.isCut && { leftOut: `items of ${page.url} after the first ${FEED_ITEMS_MAX}` }),
  };
}

/** Returns the next URL if it is on the same host and differs from the current one; else null. */
function nextOf({ nextUrl }: Feed, url: string): string | null {
  if (nextUrl === null || nextUrl.length > PAGE_URL_CHARACTERS_MAX || nextUrl === url) return null;
  return new URL(nextUrl).host === new URL(url).host ? nextUrl : null;
}

/** Returns the ids that a feed gives to different items, such as `N/A`, or one address for all of them. */
function sharedIds(items: readonly FeedItem[]): ReadonlySet<string> {
  const places = new Map<string, string>();
  const shared = new Set<string>();
  for (const item of items) {
    const id = item.id ?? item.url;
    if (id === null) continue;
    const place = placeOf(item);
    if ((places.get(id) ?? place) !== place) shared.add(id);
    places.set(id, place);
  }
  return shared;
}

function placeOf({ url, title }: FeedItem): string {
  return hash('sha256', JSON.stringify([url, title]), 'hex').slice(0, 16);
}

function toRecord(
  item: FeedItem,
  forms: readonly ContentForm[],
  shared: ReadonlySet<string>,
  { title }: Feed,
  feedUrl: string,
): FoundRecord {
  const marked = markedContentIn(item.markup, item.baseUrl, forms);
  const given = item.id ?? item.url ?? fingerprint(item);
  const id = shared.has(given) ? `${given}#${placeOf(item)}` : given;
  return {
    id,
    sourceUrl: item.url ?? feedUrl,
    fields: {
      id,
      url: item.url,
      title: item.title,
      authors: item.authors,
      published_at: item.publishedAt,
      updated_at: item.updatedAt,
      summary: item.summary,
      text: forms.includes('text') ? item.text : null,
      categories: item.categories,
      image_url: item.imageUrl,
      enclosures: item.enclosures.map(({ url, type, bytes }) => ({ url, type, bytes })),
      feed_url: feedUrl,
      feed_title: title,
      extensions: item.extensions === null ? null : extensionFields(item.extensions),
      markdown: marked.markdown,
      html: marked.html,
    },
    ...(marked.isCut && { isTruncated: true }),
  };
}

function extensionFields(found: FeedExtensions): JsonObject {
  return {
    views: found.views,
    rating: found.rating,
    rating_count: found.ratingCount,
    version: found.version,
    duration_seconds: found.durationSeconds,
    season: found.season,
    episode: found.episode,
    episode_type: found.episodeType,
    doi: found.doi,
    pdf_url: found.pdfUrl,
    media_urls: found.mediaUrls,
    form_type: found.formType,
  };
}

/** Id of an item to which the feed gives neither an id nor a URL. */
function fingerprint({ title, publishedAt, summary, text }: FeedItem): string {
  return hash('sha256', JSON.stringify([title, publishedAt, summary, text]), 'hex').slice(0, 32);
}

export const feed: Connector = {
  id: 'feed',
  title: 'Feeds',
  description:
    'RSS, Atom, RDF and JSON feeds of any site, found through links on its pages or at their usual locations.',
  docsUrl: 'https://www.rssboard.org/rss-specification',
  terms: {
    termsUrl: null,
    attribution: null,
    ratePolicy: 'No key. robots.txt is obeyed; requests are spaced per registrable domain.',
  },
  operations: [
    feedOperation(
      {
        name: 'feed.items',
        description: 'Items of a feed, or of the first feed that a page links to.',
        example: { input: { url: 'https://www.example.com/feed' }, record: EXAMPLE },
      },
      'page',
    ),
    feedOperation(
      {
        name: 'company.posts',
        description:
          "Posts of a company's website, from the feed that its page links to or that is at a usual location.",
        example: { input: { url: 'www.example.com' }, record: EXAMPLE },
      },
      'site',
    ),
  ],
};
