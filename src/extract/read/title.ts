import { elementsNamed, plainText, textBeginning, type HtmlPage } from './html.ts';
import { comparable, type SiteNames } from './site-names.ts';

/** Choice: maximum number of headings compared. More of the highest rank indicate a page of several parts. */
const HEADINGS_MAX = 5;
/** Choice: maximum number of characters of a title in which a site's name is searched for. */
const CHARACTERS_MAX = 500;

/**
 * Returns the first valid title of a page, without the site's name. `given` are the machine-readable titles, the most trusted first. A
 * truncated title (`… and for eleven years the plans...`) is replaced by a later one that continues it.
 */
export function chooseTitle(page: HtmlPage, given: readonly (string | null)[], names: SiteNames): string | null {
  const titles = given
    .map((title) => withoutSite(page, plainText(title), names))
    .filter((title) => title !== null && !/^https?:\/\/\S+$/.test(title));
  // A page whose machine-readable title is the site's name uses the same title for all of its pages.
  const first = titles.find((title) => title !== null && !names.says(title)) ?? titles[0] ?? null;
  return titles.find((title) => first !== null && title !== null && goesOn(first, title)) ?? first;
}

/** Choice: length at which search engines ask for a headline to be truncated, minus room for the word that is cut. */
const CUT_CHARACTERS_MIN = 90;

function goesOn(cut: string, title: string): boolean {
  const stem = cut.replace(/\s*(?:…|\.{3})$/, '');
  const isCut = stem !== cut || cut.length >= CUT_CHARACTERS_MIN;
  return isCut && title.length > cut.length && title.startsWith(stem);
}

/**
 * Separators between a page's title and its site's name: a sign between spaces. Some are used without spaces, such as `｜` and, in Chinese,
 * `_` and `-`.
 */
const PARTS =
  /\s+[-–—|·•»«›‹:~/\\]+\s+|\s*(?:[|｜»›]|::)\s*|_|:\s+|(?<=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}])[-–—]+/gu;

/**
 * Reduces `Harbour - Coast wiki` to `Harbour` on a page with that heading, or if `Coast wiki` is a name of the site. A title that equals a
 * heading is kept completely. So is a title without a part known to be the site's name: `Brighton Rock - The Long Way Home`.
 */
export function withoutSite(page: HtmlPage, title: string | null, names: SiteNames): string | null {
  if (title === null || title.length > CHARACTERS_MAX || title.search(PARTS) < 0) return title;
  const headings = headingsOf(page, ['h1']);
  const wanted = comparable(title);
  if (headings.some((heading) => comparable(heading) === wanted)) return title;
  const part = headings.find((heading) => isPart(heading, title) && !names.has(heading));
  return part ?? withoutEnd(title, names) ?? withoutBeginning(page, title, names) ?? title;
}

/** Returns the first headings of each rank, such as `h1`, without empty ones. */
export function headingsOf(page: HtmlPage, ranks: readonly string[]): readonly string[] {
  return ranks.flatMap((rank) =>
    elementsNamed(page, rank)
      .slice(0, HEADINGS_MAX)
      .map((one) => textBeginning(one, CHARACTERS_MAX))
      .filter(Boolean),
  );
}

/** A sign between spaces. */
const PARTED = /\s[-–—|·•»«›‹]\s/u;

function isPart(heading: string, title: string): boolean {
  return (
    (title.startsWith(heading) && title.slice(heading.length).search(PARTED) === 0) ||
    (title.endsWith(heading) && PARTED.test(title.slice(0, -heading.length).slice(-3)))
  );
}

/** Returns null if the title does not end in the site's name. Takes the longest such end, because names can contain separators too. */
function withoutEnd(title: string, names: SiteNames): string | null {
  for (const { 0: sign, index } of title.matchAll(PARTS)) {
    const isColon = /^:\s/.test(sign);
    const rest = title.slice(0, index).trim();
    if (!isColon && rest !== '' && names.has(title.slice(index + sign.length))) return rest;
  }
  return null;
}

/**
 * Returns null if the title does not begin with the site's name, or if the name may be the beginning of a sentence. The evidence must be
 * stronger than at the end: the page itself must state the name, and before a colon a heading must equal the rest.
 */
function withoutBeginning(page: HtmlPage, title: string, names: SiteNames): string | null {
  if (new URL(page.url).pathname === '/') return null;
  for (const { 0: sign, index } of [...title.matchAll(PARTS)].toReversed()) {
    const rest = title.slice(index + sign.length).trim();
    if (rest === '' || !names.says(title.slice(0, index))) continue;
    if (/^\s*:\s/.test(sign) && !headingsOf(page, ['h1', 'h2', 'h3']).includes(rest)) continue;
    return rest;
  }
  return null;
}
