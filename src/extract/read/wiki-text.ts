import type { Element } from 'domhandler';
import { findElements, words, type HtmlPage } from './html.ts';
import type { MainPart } from './main-part.ts';

/** Class of the element in which MediaWiki puts the article text, on every page and in the output of its interface. */
const BODY_CLASS = 'mw-parser-output';
/** Classes of inserted elements: links to edit a section, the table of contents, navigation boxes, and parts excluded from printing. */
const BETWEEN = ['mw-editsection', 'mw-jump-link', 'mw-empty-elt', 'navbox', 'noprint', 'toc'];

/** Returns the part of a MediaWiki page that has its text, recognised by its markup; null on other pages. */
export function findWikiPart(page: HtmlPage): Pick<MainPart, 'part' | 'skips'> | null {
  const body = findElements(page.root, (element) => words(element, 'class').includes(BODY_CLASS), 1)[0];
  return body === undefined ? null : { part: body, skips: isBetween };
}

function isBetween(element: Element): boolean {
  return words(element, 'class').some((name) => BETWEEN.includes(name));
}
