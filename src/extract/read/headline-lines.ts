import type { Element } from 'domhandler';
import { attribute, linesOf, type HtmlPage } from './html.ts';
import { comparable } from './site-names.ts';
import { headingsOf } from './title.ts';

/**
 * Choice: maximum number of lines below the headline: a subtitle, the authors, their titles, the date, share buttons, a picture's caption.
 */
const LINES_MAX = 12;
/** Choice: maximum number of characters of a line with author and date. In Chinese, half as many characters contain as much. */
const LINE_CHARACTERS_MAX = 150;
/** Choice: maximum number of characters of a line that may be a headline. */
const HEADING_CHARACTERS_MAX = 500;
/** Choice: number of paragraphs after which the text has begun. */
const PARAGRAPHS_MAX = 2;

/**
 * Returns the lines around a page's headline, where readers look for author and date: the lines below, then the one directly above.
 * Excludes paragraphs.
 */
export function headlineLines(page: HtmlPage, title: string | null): readonly string[] {
  const all = linesOf(page.root, isAside).split('\n');
  const heading = headingAt(all, [title ?? '', ...headingsOf(page, ['h1'])]);
  const below: string[] = [];
  let paragraphs = 0;
  for (const line of all.slice(heading + 1, heading + 1 + LINES_MAX)) {
    if (line.length <= LINE_CHARACTERS_MAX) below.push(line);
    else if (++paragraphs >= PARAGRAPHS_MAX) break;
  }
  const above = heading > 0 ? all.slice(heading - 1, heading) : [];
  return [...below, ...above.filter((line) => line.length <= LINE_CHARACTERS_MAX)];
}

/** Returns the line of the first heading that occurs; -1 if none occurs. */
function headingAt(lines: readonly string[], headings: readonly string[]): number {
  const ranks = new Map(headings.map(comparable).map((heading, rank) => [heading, rank] as const));
  ranks.delete('');
  let best = { rank: Number.POSITIVE_INFINITY, at: -1 };
  for (const [at, line] of lines.entries()) {
    const rank = line.length > HEADING_CHARACTERS_MAX ? undefined : ranks.get(comparable(line));
    if (rank !== undefined && rank < best.rank) best = { rank, at };
    if (best.rank === 0) break;
  }
  return best.at;
}

/** Elements that contain something other than the page's main content. */
const ASIDE = new Set(['nav', 'aside', 'footer', 'form', 'select', 'dialog', 'menu']);
/** Classes with which sites mark such elements, and readers' comments. */
const ASIDE_CLASS =
  /(?:^|[\s_-])(?:comments?|reviews|testimonials?|respond|related|recommended|sidebar|widget|teaser|trending|latest|most-?read|newsletter|breadcrumbs?|navigation)(?:$|[\s_-])/i;

/** Returns whether an element contains something other than the page's main content. */
export function isAside(element: Element): boolean {
  if (ASIDE.has(element.name)) return true;
  if (element.name === 'body' || element.name === 'html' || element.name === 'article') return false;
  return ASIDE_CLASS.test(`${attribute(element, 'class') ?? ''} ${attribute(element, 'id') ?? ''}`);
}

/** Returns whether an element is inside one of these. */
export function isWithinAside(element: Element): boolean {
  for (let at = element.parent; at !== null; at = at.parent) if ('attribs' in at && isAside(at)) return true;
  return false;
}
