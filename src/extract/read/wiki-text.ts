import type { Element } from 'domhandler';
import { findElements, linesOf, words, type HtmlPage } from './html.ts';
import { orNull } from './text.ts';

/** The element in which MediaWiki puts what was written, on every page and in what its interface renders. */
const BODY_CLASS = 'mw-parser-output';
/** What it puts between: links to edit a part, the table of contents, boxes that lead to other pages, what is not for print. */
const BETWEEN = ['mw-editsection', 'mw-jump-link', 'mw-empty-elt', 'navbox', 'noprint', 'toc'];

/** The text of a page of a wiki, by its own marks; null on other pages. */
export function readWikiText(page: HtmlPage): string | null {
  const body = findElements(page.root, (element) => words(element, 'class').includes(BODY_CLASS), 1)[0];
  return body === undefined ? null : orNull(linesOf(body, isBetween));
}

function isBetween(element: Element): boolean {
  return words(element, 'class').some((name) => BETWEEN.includes(name));
}
