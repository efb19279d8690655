import type { Element } from 'domhandler';
import { attribute, elementsNamed, findElements, textOf, words, type HtmlPage } from './html.ts';
import { collapse } from './page-text.ts';
import { createLinkReader, normalisedAddress, type WebAddress } from './urls.ts';

/** A link of a page to another page or to a part of the same page. */
export interface PageLink {
  /** Absolute http or https URL. */
  readonly url: string;
  /** The visible text of the link, else its label, its title, or the alternative text of its image. */
  readonly text: string;
  /** In lower case. */
  readonly rel: readonly string[];
  /** `nofollow`, `ugc` or `sponsored`: the page does not endorse the link. */
  readonly nofollow: boolean;
}

/** Choice: maximum number of links of one page. The longest lists have some 10,000. */
export const PAGE_LINKS_MAX = 20_000;
/** Choice: maximum number of characters of a link's text. */
const LINK_TEXT_CHARACTERS_MAX = 1_000;
const NOT_VOUCHED = ['nofollow', 'ugc', 'sponsored'];

/** A link as a crawl needs it. */
export interface PageAddress extends Pick<PageLink, 'nofollow'> {
  readonly address: WebAddress;
  /** `normalisedUrl` of the address. */
  readonly key: string;
}

/** Returns the first link to each address, ignoring fragments, in page order. */
export function readLinks(page: HtmlPage): readonly PageLink[] {
  return distinctLinks(page).map(({ element, address }) => {
    const rel = words(element, 'rel');
    return { url: address.href, text: linkText(element), rel, nofollow: isNotVouched(rel) };
  });
}

/** Returns the addresses to which the links lead. */
export function readAddresses(page: HtmlPage): readonly PageAddress[] {
  return distinctLinks(page).map(({ element, address, key }) => {
    return { address, key, nofollow: isNotVouched(words(element, 'rel')) };
  });
}

interface DistinctLink extends Omit<PageAddress, 'nofollow'> {
  readonly element: Element;
}

function distinctLinks(page: HtmlPage): readonly DistinctLink[] {
  const read = createLinkReader(page.baseUrl);
  const links = new Map<string, DistinctLink>();
  for (const element of linkElements(page)) {
    const address = read(attribute(element, 'href'));
    if (address === null) continue;
    const key = normalisedAddress(address);
    if (links.has(key)) continue;
    links.set(key, { element, address, key });
    if (links.size >= PAGE_LINKS_MAX) break;
  }
  return [...links.values()];
}

/** Few pages have image maps. Only those require a traversal to keep both kinds of elements in order. */
function linkElements(page: HtmlPage): readonly Element[] {
  if (elementsNamed(page, 'area').length === 0) return elementsNamed(page, 'a');
  return findElements(page.root, ({ name }) => name === 'a' || name === 'area');
}

function isNotVouched(rel: readonly string[]): boolean {
  return rel.some((word) => NOT_VOUCHED.includes(word));
}

function linkText(element: Element): string {
  const image = findElements(element, ({ name }) => name === 'img', 1)[0];
  const text =
    textOf(element) ||
    (attribute(element, 'aria-label') ?? attribute(element, 'title') ?? attribute(element, 'alt')) ||
    attribute(image, 'alt');
  return collapse(text ?? '').slice(0, LINK_TEXT_CHARACTERS_MAX);
}
