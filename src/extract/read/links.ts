import type { Element } from 'domhandler';
import { attribute, findElements, textOf, words, type HtmlPage } from './html.ts';
import { collapse } from './text.ts';
import { absoluteUrl, normalisedUrl } from './urls.ts';

/** A link of a page that leads to another one or to a place of the same. */
export interface PageLink {
  /** Absolute; http or https. */
  readonly url: string;
  /** What is seen of it: its words, else its label, its title, or what stands for its picture. */
  readonly text: string;
  /** In lower case. */
  readonly rel: readonly string[];
  /** `nofollow`, `ugc` or `sponsored`: the page does not vouch for it. */
  readonly nofollow: boolean;
}

/** Choice: links of one page; the longest lists have some 10,000. */
const LINKS_MAX = 20_000;
/** Choice: characters of a link's text. */
const LINK_TEXT_CHARACTERS_MAX = 1_000;
const NOT_VOUCHED = ['nofollow', 'ugc', 'sponsored'];

/** The first link to each address, fragments aside; in the order of the page. */
export function readLinks(page: HtmlPage): readonly PageLink[] {
  const links = new Map<string, PageLink>();
  for (const element of findElements(page.root, isLink)) {
    const url = absoluteUrl(attribute(element, 'href'), page.baseUrl);
    if (url === null) continue;
    const key = normalisedUrl(url);
    if (links.has(key)) continue;
    const rel = words(element, 'rel');
    links.set(key, { url, text: linkText(element), rel, nofollow: rel.some((word) => NOT_VOUCHED.includes(word)) });
    if (links.size >= LINKS_MAX) break;
  }
  return [...links.values()];
}

function isLink({ name }: Element): boolean {
  return name === 'a' || name === 'area';
}

function linkText(element: Element): string {
  const image = findElements(element, ({ name }) => name === 'img', 1)[0];
  const text =
    textOf(element) ||
    (attribute(element, 'aria-label') ?? attribute(element, 'title') ?? attribute(element, 'alt')) ||
    attribute(image, 'alt');
  return collapse(text ?? '').slice(0, LINK_TEXT_CHARACTERS_MAX);
}
