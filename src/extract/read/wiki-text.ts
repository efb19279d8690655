import type { Element } from 'domhandler';
import { findElements, linesOf, words, type HtmlPage } from './html.ts';
import { orNull } from './page-text.ts';

/** Class of the element in which MediaWiki puts the article text, on every page and in the output of its interface. */
const BODY_CLASS = 'mw-parser-output';
/** Classes of inserted elements: links to edit a section, the table of contents, navigation boxes, and parts excluded from printing. */
const BETWEEN = ['mw-editsection', 'mw-jump-link', 'mw-empty-elt', 'navbox', 'noprint', 'toc'];

/** Returns the text of a MediaWiki page, recognised by its markup; null on other pages. */
export function readWikiText(page: HtmlPage): string | null {
  const body = findElements(page.root, (element) => words(element, 'class').includes(BODY_CLASS), 1)[0];
  return body === undefined ? null : orNull(linesOf(body, isBetween), Number.POSITIVE_INFINITY);
}

function isBetween(element: Element): boolean {
  return words(element, 'class').some((name) => BETWEEN.includes(name));
}
