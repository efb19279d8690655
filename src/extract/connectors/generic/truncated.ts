import type { FoundRecord, StepNote, StepResult } from '../../base/connector.ts';
import type { Article } from '../../read/article.ts';
import type { HtmlPage } from '../../read/html.ts';

/** Describes for the operator what is not read of a page; null if nothing is missing. */
export function restOf({ url, isCut }: Pick<HtmlPage, 'url' | 'isCut'>): string | null {
  return isCut ? `the rest of ${url}, a page that is too long or too deep` : null;
}

/** Describes a list that ends before its closing tag. */
export function brokenOffNote(url: string): StepNote {
  return { reason: 'parse_failed', detail: `${url} is truncated: it ends before its closing tag` };
}

/** Returns the `leftOut` member of a step result, if there is something to report. */
export function leftOutOf(leftOut: string | null): Pick<StepResult, 'leftOut'> {
  return leftOut === null ? {} : { leftOut };
}

/** Returns the `isTruncated` member of a record, if its text was truncated. */
export function truncatedMark(article: Article | null): Pick<FoundRecord, 'isTruncated'> {
  return article?.isTextTruncated === true || article?.marked.isCut === true ? { isTruncated: true } : {};
}
