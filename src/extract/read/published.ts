import { parseUrl } from '../../kernel/parse-url.ts';
import type { Element } from 'domhandler';
import { isoDate } from './dates.ts';
import { isWithinAside } from './headline-lines.ts';
import { attribute, elementsNamed, textBeginning, words, type HtmlPage } from './html.ts';
import { monthNamed } from './month-names.ts';
import { isoDay, writtenDates } from './written-dates.ts';

/** Names of `meta` elements that contain a page's publication date, in `name`, `property` or `itemprop`. */
const META_NAMES = [
  'article:published_time',
  'og:published_time',
  'article:published',
  'datepublished',
  'parsely-pub-date',
  'date',
  'dc.date',
  'dc.date.issued',
  'dcterms.date',
  'dcterms.issued',
  'dcterms.created',
  'citation_publication_date',
  'citation_date',
  'sailthru.date',
  'pubdate',
  'publishdate',
  'publish-date',
  'publish_date',
  'published_time',
];

/** Returns the date from a `meta` element; null if there is none. */
export function publishedByMeta(page: HtmlPage): string | null {
  const dates = new Map<string, string>();
  for (const meta of elementsNamed(page, 'meta')) {
    for (const name of ['property', 'name', 'itemprop'].flatMap((key) => attribute(meta, key)?.toLowerCase() ?? [])) {
      const date = META_NAMES.includes(name) && !dates.has(name) ? isoDate(attribute(meta, 'content')) : null;
      if (date !== null) dates.set(name, date);
    }
  }
  return META_NAMES.map((name) => dates.get(name)).find((date) => date !== undefined) ?? null;
}

/**
 * Returns the date from the page's visible content and from its URL. A marked date takes precedence over one in plain text. If the URL
 * contains a different day, the URL takes precedence, because a date in the text may refer to something else.
 */
export function publishedByPage(
  page: HtmlPage,
  language: string | null,
  lines: () => readonly string[],
): string | null {
  const shown = markedDate(page, language) ?? writtenDate(lines(), language);
  const address = dateInAddress(page.url);
  if (shown === null || address === null) return shown ?? address;
  return Math.abs(Date.parse(shown) - Date.parse(address)) <= DAYS_APART_MAX * 86_400_000 ? shown : address;
}

/** Choice: a URL contains the day in the site's time zone, possibly that of a draft. */
const DAYS_APART_MAX = 2;

const PUBLISHED_CLASS = /(?:^|[\s_-])(?:published|pubdate|dt-published|entry-date|post-date|posted-on)(?:$|[\s_-])/i;
const UPDATED_CLASS = /(?:^|[\s_-])(?:updated|modified|dt-updated|dateModified)(?:$|[\s_-])/i;

/** Choice: maximum number of marked dates of one page. More are a list of other pages. */
const TIMES_MAX = 100;
const TIME_CHARACTERS_MAX = 100;

/** Returns the first date marked as publication date, else the first date that is not marked as a modification date. */
function markedDate(page: HtmlPage, language: string | null): string | null {
  const times = [
    ...elementsNamed(page, 'time').slice(0, TIMES_MAX),
    ...elementsNamed(page, 'abbr').slice(0, TIMES_MAX).filter(isPublished),
  ];
  const own = times.filter((time) => !isUpdated(time) && !isWithinAside(time));
  for (const time of [...own.filter(isPublished), ...own]) {
    const given = attribute(time, 'datetime') ?? (time.name === 'abbr' ? attribute(time, 'title') : null);
    const text = textBeginning(time, TIME_CHARACTERS_MAX);
    const date = isoDate(given ?? text) ?? writtenDates(text, language)[0]?.iso ?? null;
    if (date !== null) return date;
  }
  return null;
}

function isPublished(element: Element): boolean {
  if (element.attribs['pubdate'] !== undefined || words(element, 'itemprop').includes('datepublished')) return true;
  return PUBLISHED_CLASS.test(attribute(element, 'class') ?? '');
}

function isUpdated(element: Element): boolean {
  if (words(element, 'itemprop').includes('datemodified')) return true;
  const names = attribute(element, 'class') ?? '';
  return UPDATED_CLASS.test(names) && !PUBLISHED_CLASS.test(names);
}

/** Words before a modification date, in the languages of the larger European and Asian webs. */
const UPDATED_WORDS =
  /(?:updated?|modified|edited|reviewed|revised|aktualisiert|geändert|bearbeitet|mise? à jour|modifié|actualizad[ao]|atualizad[ao]|aggiornat[ao]|bijgewerkt|gewijzigd|uppdaterad|oppdatert|opdateret|aktualizac\p{L}+|aktualizováno|zaktualizowano|обновлен\p{L}+|güncelle\p{L}+|更新|수정)[^\d]{0,25}$/iu;
/**
 * Choice: maximum number of words before and after the date in its line: first for lines that contain little else, then for lines that may
 * also name an author. A sentence about a day has more.
 */
const WORDS_BESIDE_MAX = [2, 6];

/** Returns the first date of a line that gives a date, but not that of a modification. */
function writtenDate(lines: readonly string[], language: string | null): string | null {
  const found = lines.flatMap((line) => datesIn(line, language));
  for (const max of WORDS_BESIDE_MAX) {
    const date = found.find(({ before, behind }) => before <= max && behind <= max);
    if (date !== undefined) return date.iso;
  }
  return null;
}

function datesIn(line: string, language: string | null): { iso: string; before: number; behind: number }[] {
  return writtenDates(line, language)
    .filter(({ start }) => !UPDATED_WORDS.test(line.slice(0, start)))
    .map(({ iso, start, end }) => {
      const [near = ''] = line.slice(0, start).split(BREAKS).slice(-1);
      const [next = ''] = line.slice(end).split(/[|·•–—,;(]/, 1);
      return { iso, before: wordsIn(near), behind: wordsIn(next) };
    });
}

const BREAKS = /[|·•–—]/;

function wordsIn(text: string): number {
  return text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0;
}

const IN_PATH =
  /(?:^|[/_-])(?:(\d{4})([/_-])(\d{1,2})\2(\d{1,2})|(\d{4})\/([a-z]{3,9})\/(\d{1,2})|t?(\d{4})(\d{2})(\d{2}))(?=[/_.-]|$)/gi;

/** Reads `/2024/05/17/`, `/2024-05-17-slug`, `/2024/may/17/`, `/20240517/`. A month alone is not a date. */
export function dateInAddress(url: string): string | null {
  const path = parseUrl(url)?.pathname ?? '';
  for (const [, y1, , m1, d1, y2, name, d2, y3, m3, d3] of path.matchAll(IN_PATH)) {
    const month = name === undefined ? Number(m1 ?? m3) : (monthNamed(name, null) ?? 0);
    const day = isoDay(Number(y1 ?? y2 ?? y3), month, Number(d1 ?? d2 ?? d3));
    if (day !== null) return day;
  }
  return null;
}
