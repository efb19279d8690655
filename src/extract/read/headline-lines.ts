import type { Element } from 'domhandler';
import { attribute, linesOf, type HtmlPage } from './html.ts';
import { comparable } from './site-names.ts';
import { headingsOf } from './title.ts';

/** Choice: lines below the headline: a subtitle, the authors, their titles, the date, buttons for sharing, a picture's caption. */
const LINES_MAX = 12;
/** Choice: characters of a line that says who and when; half as many are as much in Chinese. */
const LINE_CHARACTERS_MAX = 150;
/** Choice: characters of a line that may be a headline. */
const HEADING_CHARACTERS_MAX = 500;
/** Choice: paragraphs after which the text has begun. */
const PARAGRAPHS_MAX = 2;

/**
 * What stands around a page's headline, where a person looks for who wrote it and when: the lines below, then the one directly above.
 * None is a paragraph.
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

/** The line of the first of the headings that has one; -1 where none has. */
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

/** Elements that hold something other than the page's own part. */
const ASIDE = new Set(['nav', 'aside', 'footer', 'form', 'select', 'dialog', 'menu']);
/** Classes by which sites name the same, and readers' comments. */
const ASIDE_CLASS =
  /(?:^|[\s_-])(?:comments?|respond|related|recommended|sidebar|widget|teaser|trending|latest|most-?read|newsletter|breadcrumbs?|navigation)(?:$|[\s_-])/i;

/** Whether an element holds what stands beside a page's own part. */
export function isAside(element: Element): boolean {
  if (ASIDE.has(element.name)) return true;
  if (element.name === 'body' || element.name === 'html' || element.name === 'article') return false;
  return ASIDE_CLASS.test(`${attribute(element, 'class') ?? ''} ${attribute(element, 'id') ?? ''}`);
}

/** Whether an element stands in one of these. */
export function isWithinAside(element: Element): boolean {
  for (let at = element.parent; at !== null; at = at.parent) if ('attribs' in at && isAside(at)) return true;
  return false;
}
