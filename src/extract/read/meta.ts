import type { Element } from 'domhandler';
import { attribute, elementsNamed, textOf, words, type HtmlPage } from './html.ts';
import { createSiteNames } from './site-names.ts';
import { languageTag, orNull } from './page-text.ts';
import { withoutSite } from './title.ts';
import { absoluteUrl } from './urls.ts';

/** What a page states about itself. */
export interface PageMeta {
  readonly title: string | null;
  readonly description: string | null;
  readonly language: string | null;
  readonly canonicalUrl: string | null;
  readonly robots: RobotsWish;
}

/** What a page requests of crawlers. */
export interface RobotsWish {
  /** The page must not become a record. */
  readonly noindex: boolean;
  /** The page's links must not be followed. */
  readonly nofollow: boolean;
}

/** Choice: maximum number of characters of a title or a description. Search engines show 160. */
const SHORT_TEXT_CHARACTERS_MAX = 5_000;
/** Our name in robots directives for a single crawler. */
const OUR_AGENT = 'gatehouse';

/** `headers` are those of the response, with names in lower case. */
export function readMeta(page: HtmlPage, headers: Readonly<Record<string, string>> = {}): PageMeta {
  const metas = elementsNamed(page, 'meta');
  return {
    title: titleOf(page, metas),
    description: orNull(named(metas, 'description') ?? named(metas, 'og:description'), SHORT_TEXT_CHARACTERS_MAX),
    language: languageOf(page, metas),
    canonicalUrl: canonicalOf(page, metas),
    robots: robotsOf(metas, headers['x-robots-tag'] ?? ''),
  };
}

/** Returns the content of the first `meta` with this `name` or `property`, ignoring case. */
function named(metas: readonly Element[], name: string): string | null {
  const meta = metas.find((element) => nameOf(element) === name && attribute(element, 'content') !== null);
  return attribute(meta, 'content');
}

function nameOf(meta: Element): string {
  return (attribute(meta, 'property') ?? attribute(meta, 'name') ?? '').toLowerCase();
}

/** SVG drawings have `title` elements too, so only one outside of them counts. */
function titleOf(page: HtmlPage, metas: readonly Element[]): string | null {
  const title = elementsNamed(page, 'title').find((element) => !isInDrawing(element));
  const [heading] = elementsNamed(page, 'h1');
  const text = title === undefined ? null : orNull(textOf(title), SHORT_TEXT_CHARACTERS_MAX);
  return (
    withoutSite(page, text, createSiteNames(page)) ??
    named(metas, 'og:title') ??
    orNull(heading && textOf(heading), SHORT_TEXT_CHARACTERS_MAX)
  );
}

function isInDrawing(element: Element): boolean {
  for (let at = element.parent; at !== null; at = at.parent) if ('name' in at && at.name === 'svg') return true;
  return false;
}

function languageOf(page: HtmlPage, metas: readonly Element[]): string | null {
  const html = elementsNamed(page, 'html')[0];
  const equivalent = metas.find((meta) => words(meta, 'http-equiv').includes('content-language'));
  return (
    languageTag(attribute(html, 'lang') ?? attribute(html, 'xml:lang')) ??
    languageTag(attribute(equivalent, 'content')) ??
    languageTag(named(metas, 'og:locale'))
  );
}

function canonicalOf(page: HtmlPage, metas: readonly Element[]): string | null {
  const link = elementsNamed(page, 'link').find((element) => words(element, 'rel').includes('canonical'));
  return absoluteUrl(attribute(link, 'href') ?? named(metas, 'og:url'), page.baseUrl);
}

function robotsOf(metas: readonly Element[], header: string): RobotsWish {
  const inPage = metas
    .filter((meta) => ['robots', OUR_AGENT].includes(nameOf(meta)))
    .flatMap((meta) => (attribute(meta, 'content') ?? '').toLowerCase().split(','));
  const wishes = new Set([...inPage.map((wish) => wish.trim()), ...headerWishes(header)]);
  const none = wishes.has('none');
  return { noindex: none || wishes.has('noindex'), nofollow: none || wishes.has('nofollow') };
}

/** Directives that have a value. Any other name before a colon is a crawler's name. */
const VALUED = /^(?:unavailable_after|max-snippet|max-image-preview|max-video-preview)$/;

/** Returns the directives of `X-Robots-Tag` for all crawlers or for us. A crawler's name applies to all directives after it. */
function headerWishes(header: string): string[] {
  let agent: string | null = null;
  const wishes: string[] = [];
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', value] = part.split(':', 2).map((word) => word.trim());
    const isAgent = value !== undefined && !VALUED.test(name);
    if (isAgent) agent = name;
    if (agent === null || agent === OUR_AGENT) wishes.push(isAgent ? value : name);
  }
  return wishes;
}
