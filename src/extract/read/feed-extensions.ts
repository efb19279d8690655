import type { AtomEntry, JsonItem, RdfItem, RssItem } from './feed-parse.ts';
import { extensionCategory } from './feed-forms.ts';
import { orNull } from './page-text.ts';
import { absoluteUrl } from './urls.ts';

/** What feeds of certain kinds say of an item beyond what all feeds have. Each member is null where the feed does not have it. */
export interface FeedExtensions {
  /** Views of a video. Source: Media RSS, `media:statistics`; YouTube. */
  readonly views: number | null;
  /** 0 to 100; stars of an App Store review are 1 to 5. Source: Media RSS, `media:starRating`; App Store, `im:rating`. */
  readonly rating: number | null;
  readonly ratingCount: number | null;
  /** Version of the app that a review is about. Source: App Store, `im:version`. */
  readonly version: string | null;
  /** Source: `itunes:duration`; Media RSS, `media:content`; JSON Feed 1.1, `duration_in_seconds`. */
  readonly durationSeconds: number | null;
  /** Source: `itunes:season`, `podcast:season`. */
  readonly season: number | null;
  /** May have a fraction. Source: `itunes:episode`, `podcast:episode`. */
  readonly episode: number | null;
  /** As the feed says: `full`, `trailer` or `bonus`. Source: `itunes:episodeType`. */
  readonly episodeType: string | null;
  /** Without `doi:` or a resolver's address. Source: arXiv, PRISM, Dublin Core. */
  readonly doi: string | null;
  readonly pdfUrl: string | null;
  /** Addresses of media that are no enclosures. Source: Media RSS, `media:content` and `media:player`. */
  readonly mediaUrls: readonly string[] | null;
  /** Source: EDGAR, category `form type` and `edgar:formType`. */
  readonly formType: string | null;
}

/** Choice: versions, form types and DOIs are shorter. A longer text is something else. */
const TEXT_CHARACTERS_MAX = 200;
/** Choice: an item has some 10 renditions of one medium. */
const MEDIA_URLS_MAX = 20;
const RATING_MAX = 100;
/** One year. Choice: no recording is longer. */
const SECONDS_MAX = 31_622_400;
const EDGAR_SCHEME = /^https?:\/\/www\.sec\.gov\//i;
const DOI = /^(?:doi:\s*|https?:\/\/(?:dx\.)?doi\.org\/)?(10\.\d{4,9}\/\S+)/i;

type Media = RssItem['media'];

export function rssExtensions(item: RssItem, base: string): FeedExtensions | null {
  const { itunes, podcast, media, prism, dc } = item;
  const labels = (item.categories ?? []).map(({ name, domain }) => ({ scheme: domain, term: name }));
  return orNothing({
    ...mediaOf(media, base),
    ...labelled(labels, [prism?.doi, ...(dc?.identifiers ?? [])], starsOf(media)),
    durationSeconds: seconds(itunes?.duration ?? firstContent(media)?.duration),
    season: count(itunes?.season ?? podcast?.season?.number),
    episode: numberUpTo(itunes?.episode ?? podcast?.episode?.number, Number.MAX_SAFE_INTEGER),
    episodeType: shortText(itunes?.episodeType),
    pdfUrl: pdfOf(item.atom?.links, base),
  });
}

export function rdfExtensions({ media, dc }: RdfItem, base: string): FeedExtensions | null {
  return orNothing({
    ...NOTHING,
    ...mediaOf(media, base),
    ...labelled([], dc?.identifiers ?? [], starsOf(media)),
    durationSeconds: seconds(firstContent(media)?.duration),
  });
}

export function atomExtensions(entry: AtomEntry, base: string): FeedExtensions | null {
  const { itunes, media, dc } = entry;
  return orNothing({
    ...mediaOf(media, base),
    ...labelled(entry.categories ?? [], dc?.identifiers ?? [], starsOf(media)),
    durationSeconds: seconds(itunes?.duration ?? firstContent(media)?.duration),
    season: count(itunes?.season),
    episode: numberUpTo(itunes?.episode, Number.MAX_SAFE_INTEGER),
    episodeType: shortText(itunes?.episodeType),
    pdfUrl: pdfOf(entry.links, base),
  });
}

export function jsonExtensions({ attachments }: JsonItem): FeedExtensions | null {
  return orNothing({ ...NOTHING, durationSeconds: seconds(attachments?.[0]?.duration_in_seconds) });
}

const NOTHING: FeedExtensions = {
  views: null,
  rating: null,
  ratingCount: null,
  version: null,
  durationSeconds: null,
  season: null,
  episode: null,
  episodeType: null,
  doi: null,
  pdfUrl: null,
  mediaUrls: null,
  formType: null,
};

function orNothing(found: FeedExtensions): FeedExtensions | null {
  return Object.values(found).every((value) => value === null) ? null : found;
}

/** A category of an item, in either format. */
export interface FeedLabel {
  readonly scheme?: string | undefined;
  readonly term?: string | undefined;
}

/** Returns whether a category holds an extension and is no subject of the item. */
export function isExtensionLabel({ scheme = '' }: FeedLabel): boolean {
  return EDGAR_SCHEME.test(scheme) || extensionCategory(scheme) !== null;
}

function labelled(
  labels: readonly FeedLabel[],
  dois: readonly (string | undefined)[],
  stars: Pick<FeedExtensions, 'rating' | 'ratingCount'>,
): Pick<FeedExtensions, 'rating' | 'ratingCount' | 'version' | 'doi' | 'formType'> {
  const termOf = (name: string): string | undefined =>
    labels.find(({ scheme }) => extensionCategory(scheme ?? '') === name)?.term;
  const form = labels.find(({ scheme }) => EDGAR_SCHEME.test(scheme ?? ''))?.term;
  return {
    rating: stars.rating ?? numberUpTo(Number(termOf('rating')), RATING_MAX),
    ratingCount: stars.ratingCount,
    version: shortText(termOf('version')),
    doi: doiOf([termOf('doi'), ...dois]),
    formType: shortText(form ?? termOf('formtype')),
  };
}

function starsOf(media: Media): Pick<FeedExtensions, 'rating' | 'ratingCount'> {
  const stars = communityOf(media)?.starRating;
  return { rating: numberUpTo(stars?.average, RATING_MAX), ratingCount: count(stars?.count) };
}

function mediaOf(media: Media, base: string): Pick<FeedExtensions, 'views' | 'mediaUrls'> {
  const parts = media === undefined ? [] : [media, ...(media.groups ?? [])];
  const links = parts.flatMap(({ contents, player }) => [...(contents ?? []).map(({ url }) => url), player?.url]);
  const urls = links.slice(0, 2 * MEDIA_URLS_MAX).flatMap((link) => absoluteUrl(link, base) ?? []);
  const mediaUrls = [...new Set(urls)].slice(0, MEDIA_URLS_MAX);
  return { views: count(communityOf(media)?.statistics?.views), mediaUrls: mediaUrls.length > 0 ? mediaUrls : null };
}

function communityOf(media: Media): NonNullable<Media>['community'] {
  return media?.community ?? media?.groups?.[0]?.community;
}

function firstContent(media: Media): NonNullable<NonNullable<Media>['contents']>[number] | undefined {
  return media?.contents?.[0] ?? media?.groups?.[0]?.contents?.[0];
}

function pdfOf(
  links: readonly { readonly href?: string; readonly type?: string; readonly title?: string }[] | undefined,
  base: string,
): string | null {
  const pdf = links?.find(({ type, title }) => type === 'application/pdf' || title === 'pdf');
  return absoluteUrl(pdf?.href, base);
}

function doiOf(texts: readonly (string | undefined)[]): string | null {
  for (const text of texts) {
    const doi = DOI.exec(text?.slice(0, 2 * TEXT_CHARACTERS_MAX).trim() ?? '')?.[1];
    if (doi !== undefined && doi.length <= TEXT_CHARACTERS_MAX) return shortText(doi);
  }
  return null;
}

function shortText(text: string | undefined): string | null {
  const short = orNull(text, TEXT_CHARACTERS_MAX + 1);
  return short === null || short.length > TEXT_CHARACTERS_MAX ? null : short;
}

function count(value: number | undefined): number | null {
  return value !== undefined && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function numberUpTo(value: number | undefined, max: number): number | null {
  return value !== undefined && value >= 0 && value <= max ? value : null;
}

function seconds(value: number | undefined): number | null {
  const known = numberUpTo(value, SECONDS_MAX);
  return known === null ? null : Math.round(known);
}
