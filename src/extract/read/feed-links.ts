import { attribute, elementsNamed, words, type HtmlPage } from './html.ts';
import { absoluteUrl } from './urls.ts';

/** A feed that a page links to. */
export interface FeedLink {
  readonly url: string;
  readonly title: string | null;
}

const FEED_TYPES = [
  'application/rss+xml',
  'application/atom+xml',
  'application/rdf+xml',
  'application/feed+json',
  'application/json',
  'application/xml',
  'text/xml',
];
/** Generic types. A link with one of these counts only if its URL looks like a feed's. */
const VAGUE_TYPES = ['application/json', 'application/xml', 'text/xml'];
const LOOKS_LIKE_FEED = /feed|rss|atom|\.rdf\b/i;
/** Choice: maximum number of feeds of one page. */
const FEEDS_MAX = 50;

/** Returns the page's feeds in page order, with those of comments last, because the page's own posts are wanted. */
export function readFeedLinks(page: HtmlPage): readonly FeedLink[] {
  const links = new Map<string, FeedLink>();
  for (const element of elementsNamed(page, 'link')) {
    const type = (attribute(element, 'type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
    const url = absoluteUrl(attribute(element, 'href'), page.baseUrl);
    if (url === null || !words(element, 'rel').some((rel) => rel === 'alternate' || rel === 'feed')) continue;
    const isFeed = FEED_TYPES.includes(type) && (!VAGUE_TYPES.includes(type) || LOOKS_LIKE_FEED.test(url));
    const isNamed = type === '' && words(element, 'rel').includes('feed');
    if (isFeed || isNamed) links.set(url, links.get(url) ?? { url, title: attribute(element, 'title') });
    if (links.size >= FEEDS_MAX) break;
  }
  const isComments = ({ url, title }: FeedLink): boolean => /comments?\b/i.test(`${new URL(url).pathname} ${title}`);
  const all = [...links.values()];
  return [...all.filter((link) => !isComments(link)), ...all.filter(isComments)];
}
