import { elementsNamed, plainText, textBeginning, type HtmlPage } from './html.ts';
import { comparable, type SiteNames } from './site-names.ts';

/** Choice: headings that are compared; more of the highest rank are a page of several parts. */
const HEADINGS_MAX = 5;
/** Choice: characters of a title in which a site's name is looked for. */
const CHARACTERS_MAX = 500;

/**
 * The first of the titles that a page gives that is one, without the site's name. `given` are those said for machines, the most
 * trusted first. One that is cut (`… and for eleven years the plans...`) stands for a later one that goes on.
 */
export function chooseTitle(page: HtmlPage, given: readonly (string | null)[], names: SiteNames): string | null {
  const titles = given
    .map((title) => withoutSite(page, plainText(title), names))
    .filter((title) => title !== null && !/^https?:\/\/\S+$/.test(title));
  // A page whose machine-readable title is that of its site has told it once for all of its pages.
  const first = titles.find((title) => title !== null && !names.says(title)) ?? titles[0] ?? null;
  return titles.find((title) => first !== null && title !== null && goesOn(first, title)) ?? first;
}

/** Choice: characters at which search engines ask for a headline to be cut, with room for the word that is cut. */
const CUT_CHARACTERS_MIN = 90;

function goesOn(cut: string, title: string): boolean {
  const stem = cut.replace(/\s*(?:…|\.{3})$/, '');
  const isCut = stem !== cut || cut.length >= CUT_CHARACTERS_MIN;
  return isCut && title.length > cut.length && title.startsWith(stem);
}

/** What parts a page's name from its site's: a sign between spaces; some stand without, such as `｜` and, in Chinese, `_` and `-`. */
const PARTS =
  /\s+[-–—|·•»«›‹:~/\\]+\s+|\s*(?:[|｜»›]|::)\s*|_|:\s+|(?<=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}])[-–—]+/gu;

/**
 * `Harbour - Coast wiki` is `Harbour` on a page with that heading, or where the site goes by `Coast wiki`. A title that is a heading as
 * it stands keeps all of it, and so does one of whose parts none is known to be the site's: `Brighton Rock - The Long Way Home`.
 */
export function withoutSite(page: HtmlPage, title: string | null, names: SiteNames): string | null {
  if (title === null || title.length > CHARACTERS_MAX || title.search(PARTS) < 0) return title;
  const headings = headingsOf(page, ['h1']);
  const wanted = comparable(title);
  if (headings.some((heading) => comparable(heading) === wanted)) return title;
  const part = headings.find((heading) => isPart(heading, title) && !names.has(heading));
  return part ?? withoutEnd(title, names) ?? withoutBeginning(page, title, names) ?? title;
}

/** The first headings of each rank, such as `h1`; none is empty. */
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

/** Null where it does not end in the site's name. The longest such end counts, as names have signs in them too. */
function withoutEnd(title: string, names: SiteNames): string | null {
  for (const { 0: sign, index } of title.matchAll(PARTS)) {
    const isColon = /^:\s/.test(sign);
    const rest = title.slice(0, index).trim();
    if (!isColon && rest !== '' && names.has(title.slice(index + sign.length))) return rest;
  }
  return null;
}

/**
 * Null where it does not begin with the site's name, or might as a sentence does: more has to speak for it than at an end, the page's
 * own word, and before a colon a heading that is the rest.
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
