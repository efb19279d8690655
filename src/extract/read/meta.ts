import type { Element } from 'domhandler';
import { attribute, elementsNamed, textOf, words, type HtmlPage } from './html.ts';
import { createSiteNames } from './site-names.ts';
import { languageTag, orNull } from './text.ts';
import { withoutSite } from './title.ts';
import { absoluteUrl } from './urls.ts';

/** What a page says of itself. */
export interface PageMeta {
  readonly title: string | null;
  readonly description: string | null;
  readonly language: string | null;
  readonly canonicalUrl: string | null;
  readonly robots: RobotsWish;
}

/** What a page asks of crawlers. */
export interface RobotsWish {
  /** It is to give no record. */
  readonly noindex: boolean;
  /** Its links are not to be followed. */
  readonly nofollow: boolean;
}

/** Choice: characters of a title or a description; search engines show 160. */
const SHORT_TEXT_CHARACTERS_MAX = 5_000;
/** Our name in robots directives that are meant for one crawler. */
const OUR_AGENT = 'gatehouse';

/** `headers` are those of the answer, names in lower case. */
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

/** The content of the first `meta` of that name (`name` or `property`), whatever the case. */
function named(metas: readonly Element[], name: string): string | null {
  const meta = metas.find((element) => nameOf(element) === name && attribute(element, 'content') !== null);
  return attribute(meta, 'content');
}

function nameOf(meta: Element): string {
  return (attribute(meta, 'property') ?? attribute(meta, 'name') ?? '').toLowerCase();
}

/** Drawings have a `title` of their own, so only one outside of them counts. */
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

/** Directives with a value; every other name before a colon is that of a crawler. */
const VALUED = /^(?:unavailable_after|max-snippet|max-image-preview|max-video-preview)$/;

/** What `X-Robots-Tag` says to all or to us. A crawler's name holds for what follows it. */
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
