import type { Element } from 'domhandler';
import { attribute, elementsNamed, findElements, textBeginning, words, type HtmlPage } from './html.ts';
import { absoluteUrl } from './urls.ts';

/** The names by which a page's site goes, to tell them from its titles and its authors. */
export interface SiteNames {
  /** Whether a text is one of them, whatever its case, accents and signs. */
  has(text: string): boolean;
  /** So by what the page says of its site, not by its address alone. */
  says(text: string): boolean;
}

/** `publishers` gives names from elsewhere. Nothing is read before the first question: few titles need an answer. */
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

/** What a text is but for case, accents, spaces and signs. */
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
    if (isFeed) yield title.replace(FEED_WORDS, '');
    else if (words(link, 'rel').includes('search')) yield title;
  }
  yield* homeLinks(page);
}

/** `Coast Notes » Feed`, `Coast Notes - Atom`. */
const FEED_WORDS = /\s*[-–—|·•»:]?\s*(?:(?:rss|atom|feed)\s*(?:[\d.]+)?\s*)+$/i;

/** Choice: links that are looked at for one that leads to the front page; it stands at the top. */
const LINKS_MAX = 30;
/** Choice: characters of a name; what is longer is a teaser. */
const NAME_CHARACTERS_MAX = 60;

/** What is written on links to the front page, or shown as a picture with a name. */
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

/** A label of a host that may be a name: not `m`, `de` or a part of an address. */
const LABEL = /^(?!\d+$).{3,}$/;

/** Its labels but for the last: `docs` and `winchkit` of `docs.winchkit.example`. */
function namesOfHost(url: string): ReadonlySet<string> {
  const host = URL.canParse(url) ? new URL(url).hostname.replace(/^www\./, '') : '';
  return new Set(
    host
      .split('.')
      .slice(0, -1)
      .map(comparable)
      .filter((label) => LABEL.test(label)),
  );
}

/** An article that sites and their hosts leave out at times. */
const LEADING_ARTICLE = /^(?:the|der|die|das|le|la|les|el|los|las|il|lo|o|de|het)\s+/i;

/** `The Coast Review` and `Coast Review` are one. */
function bare(text: string): string {
  return comparable(text.trim().replace(LEADING_ARTICLE, ''));
}

/** How a host may spell a name: with its article or without, with `ae` for `ä`; `Coast.example` is `coast`. */
function spellings(text: string): readonly string[] {
  const german = text.replaceAll(/[äöüÄÖÜ]/g, '$&e');
  return [comparable(text), bare(text.replace(/\.[a-z]{2,}$/i, '')), comparable(german), bare(german)];
}
