import type { StepResult } from '../../connector.ts';
import type { HtmlPage } from '../../read/html.ts';

/** What of a page is not read, in words for the operator; null where nothing is. */
export function restOf({ url, isCut }: Pick<HtmlPage, 'url' | 'isCut'>): string | null {
  return isCut ? `the rest of ${url}, a page too long or too deep` : null;
}

/** A step's own, where there is some. */
export function leftOutOf(leftOut: string | null): Pick<StepResult, 'leftOut'> {
  return leftOut === null ? {} : { leftOut };
}
