import { parseUrl } from '../../kernel/parse-url.ts';
import type { Element } from 'domhandler';
import { attribute, elementsNamed, findElements, textBeginning, words, type HtmlPage } from './html.ts';
import { absoluteUrl } from './urls.ts';

/** The names of a page's site, to remove them from its titles and authors. */
export interface SiteNames {
  /** Returns whether a text is one of the names, ignoring case, accents and punctuation. */
  has(text: string): boolean;
  /** Returns whether a text is a name that the page gives its site, not only one derived from its host name. */
  says(text: string): boolean;
}

/** `publishers` returns names from other sources. Nothing is read before the first query, because few titles need one. */
export function createSiteNames(page: HtmlPage, publishers: () => readonly (string | null)[] = () => []): SiteNames {
  let said: ReadonlySet<string> | null = null;
  let ofHost: ReadonlySet<string> | null = null;
  const says = (text: string): boolean => {
    said ??= new Set([...publishers(), ...saidBy(page)].map((name) => bare(name ?? '')).filter(Boolean));
    return said.has(bare(text));
  };
  return {
    says,
    has(text) {
      if (says(text)) return true;
      ofHost ??= namesOfHost(page.url);
      return spellings(text).some((name) => ofHost?.has(name) === true);
    },
  };
}

/** Normalises a text: ignores case, accents, spaces and punctuation. */
export function comparable(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/[^\p{L}\p{N}]+/gu, '')
    .toLowerCase();
}

const META_NAMES = new Set([
  'og:site_name',
  'application-name',
  'apple-mobile-web-app-title',
  'dc.publisher',
  'dcterms.publisher',
  'publisher',
]);

function* saidBy(page: HtmlPage): Generator<string | null> {
  for (const meta of elementsNamed(page, 'meta')) {
    const name = (attribute(meta, 'property') ?? attribute(meta, 'name') ?? '').toLowerCase();
    if (META_NAMES.has(name)) yield attribute(meta, 'content');
  }
  for (const link of elementsNamed(page, 'link')) {
    const title = attribute(link, 'title');
    if (title === null) continue;
    const isFeed = /\b(?:rss|atom)\+xml/i.test(attribute(link, 'type') ?? '');
    if (isFeed) yield title.slice(0, FEED_TITLE_CHARACTERS_MAX).replace(FEED_WORDS, '');
    else if (words(link, 'rel').includes('search')) yield title;
  }
  yield* homeLinks(page);
}

/** `Coast Notes » Feed`, `Coast Notes - Atom`. */
const FEED_WORDS = /\s*[-–—|·•»:]?\s*(?:(?:rss|atom|feed)[\s\d.]*)+$/i;
/** Choice: maximum number of characters of a feed's title; the expression above takes the square of it. */
const FEED_TITLE_CHARACTERS_MAX = 200;

/** Choice: maximum number of links examined to find one to the front page, which is near the top. */
const LINKS_MAX = 30;
/** Choice: maximum number of characters of a name. A longer text is a teaser. */
const NAME_CHARACTERS_MAX = 60;

/** Returns the texts of links to the front page, or the names of their images. */
function* homeLinks(page: HtmlPage): Generator<string> {
  const root = absoluteUrl('/', page.url);
  if (root === null || page.url === root) return;
  for (const link of elementsNamed(page, 'a').slice(0, LINKS_MAX)) {
    if (absoluteUrl(attribute(link, 'href'), page.baseUrl) !== root) continue;
    for (const text of [textBeginning(link, NAME_CHARACTERS_MAX + 1), attribute(link, 'title'), pictureName(link)])
      if (text !== null && text.length <= NAME_CHARACTERS_MAX) yield text;
  }
}

function pictureName(link: Element): string | null {
  return attribute(findElements(link, ({ name }) => name === 'img', 1)[0], 'alt');
}

/** A host label that may be a name: not `m`, `de` or a part of an IP address. */
const LABEL = /^(?!\d+$).{3,}$/;

/** Returns the host's labels without the last one: `docs` and `winchkit` for `docs.winchkit.example`. */
function namesOfHost(url: string): ReadonlySet<string> {
  const host = parseUrl(url)?.hostname.replace(/^www\./, '') ?? '';
  return new Set(
    host
      .split('.')
      .slice(0, -1)
      .map(comparable)
      .filter((label) => LABEL.test(label)),
  );
}

/** Articles that sites and their host names sometimes omit. */
const LEADING_ARTICLE = /^(?:the|der|die|das|le|la|les|el|los|las|il|lo|o|de|het)\s+/i;

/** Makes `The Coast Review` equal to `Coast Review`. */
function bare(text: string): string {
  return comparable(text.trim().replace(LEADING_ARTICLE, ''));
}

/** Returns the spellings that a host name may use: with or without the article, and with `ae` for `ä`. `Coast.example` becomes `coast`. */
function spellings(text: string): readonly string[] {
  const german = text.replaceAll(/[äöüÄÖÜ]/g, '$&e');
  return [comparable(text), bare(text.replace(/\.[a-z]{2,}$/i, '')), comparable(german), bare(german)];
}
