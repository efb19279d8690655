import { unreachable } from '../../kernel/brand.ts';
import { SourceFailure } from '../base/connector.ts';
import { isoDate } from './dates.ts';
import {
  atomExtensions,
  isExtensionLabel,
  jsonExtensions,
  rdfExtensions,
  rssExtensions,
  type FeedExtensions,
} from './feed-extensions.ts';
import {
  parseAnyFeed,
  type AtomEntry,
  type FeedOf,
  type JsonItem,
  type ParsedFeed,
  type RdfItem,
  type RssItem,
} from './feed-parse.ts';
import { plainText, textOfHtml } from './html.ts';
import { languageTag, orNull } from './page-text.ts';
import { absoluteUrl } from './urls.ts';

/** A feed of any format in one common form. */
export interface Feed {
  readonly format: 'rss' | 'atom' | 'rdf' | 'json';
  readonly title: string | null;
  /** The site that the feed belongs to. */
  readonly siteUrl: string | null;
  readonly language: string | null;
  /** The next page of the feed, if it has pages. Source: RFC 5005; JSON Feed, `next_url`. */
  readonly nextUrl: string | null;
  readonly items: readonly FeedItem[];
  /** The feed has more items than the `FEED_ITEMS_MAX` that are read. */
  readonly isCut: boolean;
  /** The feed ends before its closing tag: its last item, and an unknown number after it, are missing. */
  readonly breaksOff: boolean;
}

type Told = Omit<Feed, 'isCut' | 'breaksOff'>;

export interface FeedItem {
  /** The id in the feed, else the item's URL. */
  readonly id: string | null;
  readonly url: string | null;
  readonly title: string | null;
  readonly authors: readonly string[];
  /** ISO 8601. */
  readonly publishedAt: string | null;
  readonly updatedAt: string | null;
  /** Without markup. */
  readonly summary: string | null;
  /** The complete content without markup, if the feed contains it. */
  readonly text: string | null;
  readonly categories: readonly string[];
  readonly imageUrl: string | null;
  readonly enclosures: readonly Enclosure[];
  /** Null if the feed has none of them for the item. */
  readonly extensions: FeedExtensions | null;
  /** The markup that `text` was read from; null without any. */
  readonly markup: string | null;
  /** The base URL of its relative links. */
  readonly baseUrl: string;
}

export interface Enclosure {
  readonly url: string;
  readonly type: string | null;
  readonly bytes: number | null;
}

/** Choice: maximum number of authors, categories or enclosures of one item. */
const LIST_MAX = 100;

/** Reads a feed from `url`. Broken markup costs only the items that contain it. Throws `parse_failed` if the text is not a feed. */
export function readFeed(text: string, url: string): Feed {
  const found = parseAnyFeed(text);
  if (found === null) throw notFeed(url, 'is not a feed, or is too long');
  try {
    return { ...toFeed(found.parsed, url), isCut: found.isCut, breaksOff: found.breaksOff };
  } catch (error) {
    throw notFeed(url, String(error));
  }
}

function notFeed(url: string, detail: string): SourceFailure {
  return new SourceFailure('parse_failed', `${url} ${detail}`, false);
}

function toFeed(parsed: ParsedFeed, url: string): Told {
  switch (parsed.format) {
    case 'rss':
      return fromRss(parsed.feed, url);
    case 'rdf':
      return fromRdf(parsed.feed, url);
    case 'atom':
      return fromAtom(parsed.feed, url);
    case 'json':
      return fromJson(parsed.feed, url);
    default:
      return unreachable(parsed);
  }
}

function fromRss(feed: FeedOf<'rss'>, url: string): Told {
  const base = absoluteUrl(feed.xml?.base ?? null, url) ?? url;
  const language = languageTag(feed.language);
  return {
    format: 'rss',
    title: plainText(feed.title),
    siteUrl: absoluteUrl(feed.link, base),
    language,
    nextUrl: nextOf(feed.atom?.links, base),
    items: (feed.items ?? []).map((item) => rssItem(item, base, language)),
  };
}

/** RSS requires an e-mail address, followed by the name in parentheses. Returns only the name. Source: RSS 2.0, "author". */
function rssName(given: string | undefined): string | undefined {
  const address = /^\s*(?:mailto:)?[^\s@()]+@[^\s@()]+\s*(?:\(([^()]*)\)\s*)?$/i.exec(given ?? '');
  return address === null ? given : address[1];
}

function rssItem(item: RssItem, feedBase: string, language: string | null): FeedItem {
  const base = absoluteUrl(item.xml?.base ?? null, feedBase) ?? feedBase;
  const guid = item.guid?.value ?? null;
  const permanent = item.guid?.isPermaLink === false || !/^https?:/i.test(guid ?? '') ? null : guid;
  const url = absoluteUrl(item.link ?? permanent ?? linkOf(item.atom?.links), base);
  return {
    id: orNull(guid ?? url),
    url,
    title: plainText(item.title ?? item.media?.title?.value),
    authors: names([
      ...(item.authors ?? []).map((person) => rssName(person.name ?? person.email)),
      ...(item.dc?.creators ?? []),
      ...(item.itunes?.author === undefined ? [] : [item.itunes.author]),
    ]),
    publishedAt: isoDate(item.pubDate ?? item.dc?.dates?.[0] ?? item.atom?.published, language),
    updatedAt: isoDate(item.atom?.updated, language),
    ...contents(item.description ?? item.itunes?.summary, item.content?.encoded),
    categories: names([
      ...(item.categories ?? []).filter(({ domain }) => !isExtensionLabel({ scheme: domain })).map(({ name }) => name),
      ...(item.dc?.subjects ?? []),
    ]),
    imageUrl: imageOf(item.media, base) ?? absoluteUrl(item.itunes?.image, base) ?? imageIn(item.enclosures, base),
    enclosures: (item.enclosures ?? [])
      .slice(0, LIST_MAX)
      .flatMap((one) => enclosure(one.url, one.type, one.length, base)),
    extensions: rssExtensions(item, base),
    baseUrl: base,
  };
}

function fromRdf(feed: FeedOf<'rdf'>, url: string): Told {
  const base = absoluteUrl(feed.xml?.base ?? null, url) ?? url;
  const language = languageTag(feed.dc?.languages?.[0]);
  return {
    format: 'rdf',
    title: plainText(feed.title),
    siteUrl: absoluteUrl(feed.link, base),
    language,
    nextUrl: nextOf(feed.atom?.links, base),
    items: (feed.items ?? []).map((item) => rdfItem(item, base, language)),
  };
}

function rdfItem(item: RdfItem, feedBase: string, language: string | null): FeedItem {
  const base = absoluteUrl(item.xml?.base ?? null, feedBase) ?? feedBase;
  const url = absoluteUrl(item.link ?? item.rdf?.about, base);
  return {
    id: orNull(item.rdf?.about ?? url),
    url,
    title: plainText(item.title),
    authors: names(item.dc?.creators ?? []),
    publishedAt: isoDate(item.dc?.dates?.[0], language),
    updatedAt: null,
    ...contents(item.description ?? item.dc?.descriptions?.[0], item.content?.encoded),
    categories: names(item.dc?.subjects ?? []),
    imageUrl: imageOf(item.media, base),
    enclosures: [],
    extensions: rdfExtensions(item, base),
    baseUrl: base,
  };
}

function fromAtom(feed: FeedOf<'atom'>, url: string): Told {
  const base = absoluteUrl(feed.xml?.base ?? null, url) ?? url;
  const authors = (feed.authors ?? []).map((person) => person.name);
  return {
    format: 'atom',
    title: plainText(feed.title?.value),
    siteUrl: absoluteUrl(linkOf(feed.links), base),
    language: languageTag(feed.xml?.lang),
    nextUrl: nextOf(feed.links, base),
    items: (feed.entries ?? []).map((entry) => atomItem(entry, base, authors)),
  };
}

function atomItem(entry: AtomEntry, feedBase: string, feedAuthors: readonly Text[]): FeedItem {
  const base = absoluteUrl(entry.xml?.base ?? null, feedBase) ?? feedBase;
  const url = absoluteUrl(linkOf(entry.links) ?? entry.content?.src, base);
  const own = entry.authors ?? [];
  const attached = (entry.links ?? []).filter(({ rel }) => rel === 'enclosure').slice(0, LIST_MAX);
  return {
    id: orNull(entry.id ?? url),
    url,
    title: plainText(entry.title?.value ?? entry.media?.title?.value),
    authors: names(own.length > 0 ? own.map(({ name }) => name) : feedAuthors),
    publishedAt: isoDate(entry.published ?? entry.dc?.dates?.[0] ?? entry.updated),
    updatedAt: isoDate(entry.updated),
    ...contents(entry.summary?.value ?? entry.media?.groups?.[0]?.description?.value, entry.content?.value),
    categories: names(
      (entry.categories ?? []).filter((one) => !isExtensionLabel(one)).map(({ label, term }) => label ?? term),
    ),
    imageUrl:
      imageOf(entry.media, base) ??
      imageIn(
        attached.map(({ href, type }) => ({ url: href, type })),
        base,
      ),
    enclosures: attached.flatMap((one) => enclosure(one.href, one.type, one.length, base)),
    extensions: atomExtensions(entry, base),
    baseUrl: base,
  };
}

function fromJson(feed: FeedOf<'json'>, url: string): Told {
  const authors = (feed.authors ?? []).map(({ name }) => name);
  return {
    format: 'json',
    title: plainText(feed.title),
    siteUrl: absoluteUrl(feed.home_page_url, url),
    language: languageTag(feed.language),
    nextUrl: absoluteUrl(feed.next_url, url),
    items: (feed.items ?? []).map((item) => jsonItem(item, url, authors)),
  };
}

function jsonItem(item: JsonItem, base: string, feedAuthors: readonly Text[]): FeedItem {
  const url = absoluteUrl(item.url ?? item.external_url, base);
  const own = item.authors ?? [];
  return {
    id: orNull(item.id ?? url),
    url,
    title: plainText(item.title),
    authors: names(own.length > 0 ? own.map(({ name }) => name) : feedAuthors),
    publishedAt: isoDate(item.date_published),
    updatedAt: isoDate(item.date_modified),
    summary: plainText(item.summary),
    text: textOfHtml(item.content_html) ?? orNull(item.content_text),
    categories: names(item.tags ?? []),
    imageUrl: absoluteUrl(item.image ?? item.banner_image, base),
    enclosures: (item.attachments ?? [])
      .slice(0, LIST_MAX)
      .flatMap((one) => enclosure(one.url, one.mime_type, one.size_in_bytes, base)),
    extensions: jsonExtensions(item),
    markup: item.content_html ?? null,
    baseUrl: base,
  };
}

type Text = string | undefined;

function contents(summary: Text, content: Text): Pick<FeedItem, 'summary' | 'text' | 'markup'> {
  return { summary: plainText(summary), text: textOfHtml(content), markup: content ?? null };
}

function names(values: readonly Text[]): readonly string[] {
  const all = values.slice(0, LIST_MAX).map(plainText);
  return [...new Set(all.filter((name) => name !== null))];
}

interface Link {
  readonly href?: Text;
  readonly rel?: Text;
  readonly type?: Text;
}

/** Returns the URL of the entry itself; the first HTML page if there are several. */
function linkOf(links: readonly Link[] | undefined): Text {
  const own = (links ?? []).filter(({ rel }) => rel === undefined || rel === 'alternate');
  return (own.find(({ type }) => type === undefined || /html/i.test(type)) ?? own[0])?.href;
}

function nextOf(links: readonly Link[] | undefined, base: string): string | null {
  return absoluteUrl((links ?? []).find(({ rel }) => rel === 'next')?.href, base);
}

function enclosure(link: Text, type: Text, bytes: number | undefined, base: string): Enclosure[] {
  const url = absoluteUrl(link, base);
  const size = bytes !== undefined && Number.isSafeInteger(bytes) && bytes > 0 ? bytes : null;
  return url === null ? [] : [{ url, type: orNull(type), bytes: size }];
}

function imageIn(
  files: readonly { readonly url?: Text; readonly type?: Text }[] | undefined,
  base: string,
): string | null {
  return absoluteUrl(files?.find(({ type }) => type?.startsWith('image/') ?? false)?.url, base);
}

function imageOf(media: RssItem['media'], base: string): string | null {
  const contents = [...(media?.contents ?? []), ...(media?.groups?.[0]?.contents ?? [])];
  const picture = contents.find(({ medium, type }) => medium === 'image' || (type?.startsWith('image/') ?? false));
  const thumbnail = media?.thumbnails?.[0] ?? media?.groups?.[0]?.thumbnails?.[0] ?? contents[0]?.thumbnails?.[0];
  return absoluteUrl(picture?.url ?? thumbnail?.url, base);
}
