import type { Readability } from '@mozilla/readability';
import { isTag, isText, type ChildNode, type Element, type ParentNode } from 'domhandler';
import { getOuterHTML } from 'domutils';
import type { parseHTML } from 'linkedom';
import { loadCommonJs } from '../../kernel/load-package.ts';
import type { JsonObject } from '../base/connector.ts';
import { readByline } from './byline.ts';
import { isoDate } from './dates.ts';
import { headlineLines } from './headline-lines.ts';
import { isWithin, type Unread, unreadOf, withoutUnread } from './hidden.ts';
import { elementsNamed, findElements, linesOf, plainText, readHtml, type HtmlPage } from './html.ts';
import { readMeta, type PageMeta } from './meta.ts';
import { publishedByMeta, publishedByPage } from './published.ts';
import { createSiteNames } from './site-names.ts';
import { addressOfValue, readStructured, textOfValue, thingsOfType, type StructuredData } from './structured.ts';
import { languageTag, orNull, wordCount } from './page-text.ts';
import { chooseTitle, headingsOf } from './title.ts';
import { absoluteUrl } from './urls.ts';
import { readWikiText } from './wiki-text.ts';

/** The readable content of a page, without menus and advertisements. */
export interface Article {
  readonly canonicalUrl: string | null;
  readonly title: string | null;
  readonly byline: string | null;
  /** ISO 8601. */
  readonly publishedAt: string | null;
  readonly modifiedAt: string | null;
  readonly siteName: string | null;
  readonly language: string | null;
  readonly excerpt: string | null;
  /**
   * One line for each paragraph. Choice: contains no markup, so that a foreign page's markup can do no harm where records are displayed.
   */
  readonly text: string;
  readonly wordCount: number;
  readonly imageUrl: string | null;
}

/**
 * Choice: maximum number of elements for the text search, which reads the text of nested elements repeatedly. Larger pages are read without
 * it.
 */
const SEARCHED_ELEMENTS_MAX = 20_000;
/**
 * Choice: maximum sum of text characters, each counted once per enclosing element, for the same reason. A long page has 100,000 characters
 * at a depth of fifteen.
 */
const SEARCHED_CHARACTERS_DEEP_MAX = 25_000_000;
/** Choice: maximum number of markup characters for the text search. Measured: 4,194,304 `<` took 65 s without a limit. */
const SEARCHED_MARKUP_CHARACTERS_MAX = 1_048_576;
/** Choice: length of an excerpt taken from the text. */
const EXCERPT_CHARACTERS = 300;

/** Choice: a marked main part with less text than this is a placeholder that a script fills. */
const MARKED_CHARACTERS_MIN = 200;
/** Choice: a page that shows less than this is looked at as a browser without scripts shows it. */
const SHOWN_CHARACTERS_MIN = 100;
/** Choice: maximum share of link text in the marked main part; above it the part is a list of teasers and the page is searched. */
const MARKED_LINKS_MAX = 0.3;

/**
 * Returns null if there is nothing to read. `headers` are those of the response. The text is what the search finds, unless that is less
 * than half of the part that the page marks as its main one: `main` also has comments, cards and related stories on many sites, while the
 * search misses much of some pages. What the page hides, and notices about cookies, are never part of it.
 * Measured: F1 of 460 pages 0.79 instead of 0.78 for the marked part where there is one, of 200 articles among them 0.96 instead of 0.92.
 */
export function readArticle(page: HtmlPage, headers: Readonly<Record<string, string>> = {}): Article | null {
  const data = readStructured(page);
  const said = saidOf(data);
  const shown = readShown(page, unreadOf(page));
  // Software that builds its pages by scripts has the whole page for others: for us.
  const isEmpty = (shown.text ?? shown.body ?? '').length < SHOWN_CHARACTERS_MIN;
  const plain = isEmpty && elementsNamed(page, 'noscript').length > 0 ? readShown(page, unreadOf(page, false)) : shown;
  const { found, text: own, body } = isLonger(plain.text, shown.text) ? plain : shown;
  const text = own ?? orNull(plainLines(said?.['articleBody'])) ?? body;
  if (text === null) return null;
  return described(page, text, found, data, said ?? {}, readMeta(page, headers));
}

interface Shown {
  readonly found: Found | null;
  readonly text: string | null;
  /** Only if there is no text. */
  readonly body: string | null;
}

function readShown(page: HtmlPage, unread: Unread): Shown {
  return withoutUnread(unread, () => {
    const wiki = readWikiText(page);
    const marked = markedText(page, unread);
    const found = searched(page);
    const text = wiki ?? (isMuchLess(found?.text, marked) ? marked : (found?.text ?? null));
    return { found, text, body: text === null ? plainBody(page, unread) : null };
  });
}

function isLonger(text: string | null, other: string | null): boolean {
  return (text?.length ?? 0) > (other?.length ?? 0);
}

/** Returns whether the search found less than half of the marked part, or nothing. */
function isMuchLess(found: string | undefined, marked: string | null): boolean {
  return found === undefined || (marked !== null && found.length < marked.length / 2);
}

/** Prefers data intended for machines: JSON-LD first, then Open Graph, then what the search guesses. */
function described(
  page: HtmlPage,
  text: string,
  found: Found | null,
  data: StructuredData,
  said: JsonObject,
  meta: PageMeta,
): Article {
  const open = data.openGraph ?? {};
  const image =
    addressOfValue(said['image']) ?? addressOfValue(open['image']) ?? addressOfValue(data.twitter?.['image']);
  const language = languageTag(textOfValue(said['inLanguage'])) ?? meta.language;
  const names = createSiteNames(page, () => [field(said['publisher']), ...siteThings(data)]);
  const given = [ownTitle(page, said), open['title'], data.twitter?.['title']].map(textOfValue);
  const title = chooseTitle(page, [...given, meta.title], names);
  let around: readonly string[] | null = null;
  const lines = (): readonly string[] => (around ??= headlineLines(page, title));
  return {
    canonicalUrl: meta.canonicalUrl,
    title: orNull(title, 5_000),
    byline: readByline({ page, said: said['author'], names, language, found: found?.byline ?? null, lines }),
    publishedAt:
      isoDate(textOfValue(said['datePublished'] ?? said['dateCreated'])) ??
      publishedByMeta(page) ??
      isoDate(found?.publishedTime) ??
      publishedByPage(page, language, lines),
    modifiedAt: isoDate(textOfValue(said['dateModified'])) ?? isoDate(textOfValue(open['article_modified_time'])),
    siteName: field(said['publisher']) ?? field(open['site_name']) ?? found?.siteName ?? null,
    language,
    excerpt: field(said['description']) ?? meta.description ?? orNull(text.slice(0, EXCERPT_CHARACTERS)),
    text,
    wordCount: wordCount(text),
    imageUrl: absoluteUrl(image, page.baseUrl),
  };
}

/** Wikis put a description into `headline`. A `name` that is also the page's heading takes precedence. */
function ownTitle(page: HtmlPage, { name, headline }: JsonObject): JsonObject[string] | undefined {
  const heading = headingsOf(page, ['h1']).some((one) => one === name);
  return heading ? name : (headline ?? name);
}

/** Returns the names that the page's data gives its site. */
function siteThings(data: StructuredData): readonly (string | null)[] {
  return thingsOfType(data, (type) => type === 'WebSite').map((thing) => field(thing['name']));
}

/**
 * Returns what JSON-LD or microdata states about the page's article. Takes the first one, because later ones are articles that the page
 * recommends.
 */
function saidOf(data: StructuredData): JsonObject | undefined {
  return thingsOfType(data, (type) =>
    /(?:Article|(?:Blog|SocialMedia|DiscussionForum)Posting|^Report)$/.test(type),
  ).find(
    (thing) =>
      thing['headline'] !== undefined || thing['articleBody'] !== undefined || thing['datePublished'] !== undefined,
  );
}

function field(value: Parameters<typeof textOfValue>[0]): string | null {
  return orNull(plainText(textOfValue(value)), 5_000);
}

interface Found {
  readonly byline: string | null;
  readonly siteName: string | null;
  readonly publishedTime: string | null;
  readonly text: string;
}

interface Search {
  readonly parseHTML: typeof parseHTML;
  readonly Readability: typeof Readability;
}

let search: Search | null = null;

/**
 * Loaded for the first page that is searched. The main thread, which imports the connectors for their catalogue, never searches a page, and
 * few workers do.
 * Measured: 90 to 110 ms of processor time and 13 MB in each thread that has them.
 */
function loadedSearch(): Search {
  if (search !== null) return search;
  search = {
    parseHTML: (loadCommonJs('linkedom') as Pick<Search, 'parseHTML'>).parseHTML,
    Readability: (loadCommonJs('@mozilla/readability') as Pick<Search, 'Readability'>).Readability,
  };
  return search;
}

/** Runs Mozilla's Readability on a copy of the page; null if it finds no text. */
function searched(page: HtmlPage): Found | null {
  if (!isSearchable(page)) return null;
  const markup = framedMarkup(page);
  if (markup.length > SEARCHED_MARKUP_CHARACTERS_MAX) return null;
  // Outside of the try block: a package that fails to load must not look like a page without an article.
  const { parseHTML, Readability } = loadedSearch();
  try {
    const { document } = parseHTML(markup);
    const result = new Readability(document, { disableJSONLD: true }).parse();
    const text = orNull(plainLines(result?.content));
    if (result === null || text === null) return null;
    return {
      byline: plainText(result.byline),
      siteName: orNull(result.siteName),
      publishedTime: result.publishedTime ?? null,
      text,
    };
  } catch {
    // Readability cannot handle every possible tree; such a page has no article.
    return null;
  }
}

/** HTML allows pages to omit the html, head and body tags, but the package of the search needs them. */
function framedMarkup(page: HtmlPage): string {
  const [html] = elementsNamed(page, 'html');
  const [body] = elementsNamed(page, 'body');
  if (html !== undefined && body !== undefined && elementsNamed(page, 'head').length > 0)
    return getOuterHTML(page.root);
  const parts = page.root.children.flatMap((child) => (child === html ? html.children : [child]));
  const at = parts.findIndex((node) => !isOfHead(node));
  const [before, after] = at < 0 ? [parts, []] : [parts.slice(0, at), parts.slice(at)];
  const head = before.flatMap((node) => (isTag(node) && node.name === 'head' ? node.children : [node]));
  const content = after.flatMap((node) => (node === body ? body.children : [node]));
  // Plain text alone is not a page.
  if (!content.some(isTag)) return getOuterHTML(page.root);
  return `<html><head>${getOuterHTML(head.filter(isTag))}</head><body>${getOuterHTML(content)}</body></html>`;
}

function isOfHead(node: ChildNode): boolean {
  return isTag(node) ? OF_HEAD.has(node.name) : !isText(node) || node.data.trim() === '';
}

/** Source: HTML standard, "metadata content". */
const OF_HEAD = new Set(['head', 'base', 'link', 'meta', 'noscript', 'script', 'style', 'template', 'title']);

function isSearchable(page: HtmlPage): boolean {
  let elements = 0;
  let characters = 0;
  const measure = (node: ParentNode, depth: number): void => {
    for (const child of node.children) {
      if (isText(child)) characters += child.data.length * depth;
      if (elements > SEARCHED_ELEMENTS_MAX || !isTag(child)) continue;
      elements++;
      measure(child, depth + 1);
    }
  };
  measure(page.root, 1);
  return elements <= SEARCHED_ELEMENTS_MAX && characters <= SEARCHED_CHARACTERS_DEEP_MAX;
}

function plainLines(markup: JsonObject[string] | undefined): string | null {
  return typeof markup === 'string' ? linesOf(readHtml(markup, 'about:blank').root) : null;
}

const AROUND = new Set(['nav', 'header', 'footer', 'aside', 'form', 'button', 'select', 'dialog', 'menu']);

/** Returns the text of the single element that is the page's main part. Several articles are a list, so none of them is. */
function markedText(page: HtmlPage, unread: Unread): string | null {
  const [main] = findElements(page.root, (element) => isMain(element) && !isWithin(element, unread), 1);
  const articles =
    main === undefined
      ? findElements(page.root, (element) => element.name === 'article' && !isWithin(element, unread), 2)
      : [];
  const part = main ?? (articles.length === 1 ? articles[0] : undefined);
  const text = part === undefined ? null : orNull(linesOf(part, ({ name }) => AROUND.has(name)));
  if (part === undefined || text === null || text.length < MARKED_CHARACTERS_MIN) return null;
  return linkCharacters(part) > MARKED_LINKS_MAX * text.length ? null : text;
}

function isMain({ name, attribs }: Element): boolean {
  return name === 'main' || attribs['role'] === 'main';
}

/** Counts the characters inside links, without navigation and the like. */
function linkCharacters(node: ParentNode, isLinked = false): number {
  let characters = 0;
  for (const child of node.children) {
    if (isText(child)) characters += isLinked ? child.data.trim().length : 0;
    else if (isTag(child) && !AROUND.has(child.name))
      characters += linkCharacters(child, isLinked || child.name === 'a');
  }
  return characters;
}

/** Returns the page's text without the surrounding parts, only for pages that mark their main part. */
function plainBody(page: HtmlPage, unread: Unread): string | null {
  const [main] = findElements(
    page.root,
    (element) => (isMain(element) || element.name === 'article') && !isWithin(element, unread),
    1,
  );
  return main === undefined ? null : orNull(linesOf(main, ({ name }) => AROUND.has(name)));
}

/** Returns the text of a whole page, without what it hides. */
export function wholeText(page: HtmlPage): string | null {
  return withoutUnread(unreadOf(page), () => orNull(linesOf(page.root)));
}
