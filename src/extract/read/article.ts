import { readByline } from './byline.ts';
import {
  CONTENT_DEFAULT,
  markedContentIn,
  markedContentOf,
  type ContentForm,
  type MarkedContent,
} from './content-forms.ts';
import { isoDate } from './dates.ts';
import { headlineLines } from './headline-lines.ts';
import { isWithin, type Unread, unreadOf, withoutUnread } from './hidden.ts';
import { elementsNamed, linesOf, plainText, textOfHtml, type HtmlPage } from './html.ts';
import { findMainPart, type MainPart } from './main-part.ts';
import { readMeta, type PageMeta } from './meta.ts';
import { publishedByMeta, publishedByPage } from './published.ts';
import { createSiteNames } from './site-names.ts';
import { addressOfValue, readStructured, textOfValue, thingsOfType, type StructuredData } from './structured.ts';
import { languageTag, orNull, wordCount } from './page-text.ts';
import { TEXT_CHARACTERS_MAX, type JsonObject } from '../base/connector.ts';
import { chooseTitle, headingsOf } from './title.ts';
import { absoluteUrl } from './urls.ts';
import { findWikiPart } from './wiki-text.ts';

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
  /** The text was longer than a field may be. `wordCount` is that of the whole text. */
  readonly isTextTruncated: boolean;
  /** The same content with its markup, in the wanted forms. */
  readonly marked: MarkedContent;
  readonly wordCount: number;
  readonly imageUrl: string | null;
}

/** Choice: length of an excerpt taken from the text. */
const EXCERPT_CHARACTERS = 300;

/** Choice: a page that shows less than this is looked at as a browser without scripts shows it. */
const SHOWN_CHARACTERS_MIN = 100;
/** Choice: only a text shorter than this gives way to that of the page's JSON-LD, which is often a summary. */
const SHORT_CHARACTERS_MAX = 250;

/**
 * Returns null if there is nothing to read. `headers` are those of the response. What the page hides, and notices about cookies, are never
 * part of the text. `forms` are those of its content that are wanted; the text is always read.
 */
export function readArticle(
  page: HtmlPage,
  headers: Readonly<Record<string, string>> = {},
  forms: readonly ContentForm[] = CONTENT_DEFAULT,
): Article | null {
  const data = readStructured(page);
  const said = saidOf(data);
  const shown = readShown(page, unreadOf(page), forms);
  // Software that builds its pages by scripts has the whole page for others: for us.
  const plain = lengthOf(shown) < SHOWN_CHARACTERS_MIN ? longer(readWithoutScripts(page, forms), shown) : shown;
  const body = said?.['articleBody'];
  const isShort = lengthOf(plain) < SHORT_CHARACTERS_MAX;
  const content = isShort ? longer(plain, typeof body === 'string' ? readBody(body, page, forms) : null) : plain;
  return content === null ? null : described(page, content, data, said ?? {}, readMeta(page, headers));
}

/** A text, and the same with its markup in the wanted forms. */
interface Content {
  readonly text: string;
  readonly marked: MarkedContent;
}

function lengthOf(content: Content | null): number {
  return content?.text.length ?? 0;
}

function readBody(body: string, page: HtmlPage, forms: readonly ContentForm[]): Content | null {
  const text = textOfHtml(body);
  return text === null ? null : { text, marked: markedContentIn(body, page.baseUrl, forms) };
}

function readShown(page: HtmlPage, unread: Unread, forms: readonly ContentForm[]): Content | null {
  return withoutUnread(unread, () => {
    const wiki = findWikiPart(page);
    return (
      (wiki === null ? null : contentOfPart(wiki, page, forms)) ??
      contentOfPart(findMainPart(page, unread), page, forms)
    );
  });
}

/** Choice: pages have one for their text, and some for counters. */
const NOSCRIPTS_MAX = 20;

/** Reads the longest `noscript` of a page. */
function readWithoutScripts(page: HtmlPage, forms: readonly ContentForm[]): Content | null {
  const unread = unreadOf(page, false);
  return withoutUnread(unread, () => {
    let content: Content | null = null;
    for (const element of elementsNamed(page, 'noscript').slice(0, NOSCRIPTS_MAX))
      if (!isWithin(element, unread))
        content = longer(contentOfPart(findMainPart(page, unread, element), page, forms), content);
    return content;
  });
}

/** Null for signs without a letter or a digit. */
function contentOfPart(
  { part, skips }: Pick<MainPart, 'part' | 'skips'>,
  page: HtmlPage,
  forms: readonly ContentForm[],
): Content | null {
  const lines = linesOf(part, skips);
  const text = /[\p{L}\p{N}]/u.test(lines) ? orNull(lines, Number.POSITIVE_INFINITY) : null;
  return text === null ? null : { text, marked: markedContentOf(part, page, skips, forms) };
}

function longer(content: Content | null, other: Content | null): Content | null {
  return lengthOf(other) > lengthOf(content) ? other : content;
}

/** Prefers data intended for machines: JSON-LD first, then Open Graph, then what readers see. */
function described(
  page: HtmlPage,
  { text, marked }: Content,
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
    byline: readByline({ page, said: said['author'], names, language, lines }),
    publishedAt:
      isoDate(textOfValue(said['datePublished'] ?? said['dateCreated'])) ??
      publishedByMeta(page) ??
      publishedByPage(page, language, lines),
    modifiedAt: isoDate(textOfValue(said['dateModified'])) ?? isoDate(textOfValue(open['article_modified_time'])),
    siteName: field(said['publisher']) ?? field(open['site_name']) ?? null,
    language,
    excerpt: field(said['description']) ?? meta.description ?? orNull(text.slice(0, EXCERPT_CHARACTERS)),
    text: text.slice(0, TEXT_CHARACTERS_MAX),
    isTextTruncated: text.length > TEXT_CHARACTERS_MAX,
    marked,
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

/** Returns the text of a whole page, without what it hides. */
export function wholeText(page: HtmlPage): string | null {
  return withoutUnread(unreadOf(page), () => orNull(linesOf(page.root)));
}
