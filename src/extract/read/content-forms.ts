import type { Element, ParentNode } from 'domhandler';
import { unreadOf, withoutUnread } from './hidden.ts';
import { readHtml, type HtmlPage } from './html.ts';
import { markdownOf } from './markdown/markdown.ts';
import { orNull } from './page-text.ts';
import { TEXT_CHARACTERS_MAX } from '../base/connector.ts';
import { plainHtmlOf } from './plain-html.ts';

/** Forms in which a connector can return the content of a page. Source: contract, 11.2. */
export const CONTENT_FORMS = ['text', 'markdown', 'html'] as const;
export type ContentForm = (typeof CONTENT_FORMS)[number];

/** The forms that a customer gets without asking for others. */
export const CONTENT_DEFAULT: readonly ContentForm[] = ['text'];

/** A content with its markup; null for each form that is not wanted, or without content. */
export interface MarkedContent {
  readonly markdown: string | null;
  readonly html: string | null;
  /** One of them was longer than a field may be. */
  readonly isCut: boolean;
}

export const NO_MARKED_CONTENT: MarkedContent = { markdown: null, html: null, isCut: false };

/** Returns the wanted forms of a part of a page, without the elements that `skips` leaves out. */
export function markedContentOf(
  node: ParentNode,
  page: Pick<HtmlPage, 'baseUrl' | 'scripts'>,
  skips: (element: Element) => boolean,
  forms: readonly ContentForm[],
): MarkedContent {
  const markdown = forms.includes('markdown') ? markdownOf(node, page, skips, TEXT_CHARACTERS_MAX) : null;
  const html = forms.includes('html') ? plainHtmlOf(node, page, skips, TEXT_CHARACTERS_MAX) : null;
  return {
    markdown: orNull(markdown?.text),
    html: orNull(html?.text),
    isCut: markdown?.isCut === true || html?.isCut === true,
  };
}

/** Returns the wanted forms of a piece of markup, such as the content of a feed's item. */
export function markedContentIn(
  markup: string | null | undefined,
  url: string,
  forms: readonly ContentForm[],
): MarkedContent {
  if (markup === null || markup === undefined || !hasMarkup(forms)) return NO_MARKED_CONTENT;
  return wholeMarkedContent(readHtml(markup, url), forms);
}

/** Returns the wanted forms of a whole page, without what it hides. */
export function wholeMarkedContent(page: HtmlPage, forms: readonly ContentForm[]): MarkedContent {
  if (!hasMarkup(forms)) return NO_MARKED_CONTENT;
  return withoutUnread(unreadOf(page), () => markedContentOf(page.root, page, () => false, forms));
}

export function hasMarkup(forms: readonly ContentForm[]): boolean {
  return forms.some((form) => form !== 'text');
}

/** Reads the forms from an input or a step; the default without them. */
export function contentFormsOf(value: unknown): readonly ContentForm[] {
  if (!Array.isArray(value)) return CONTENT_DEFAULT;
  return CONTENT_FORMS.filter((form) => value.includes(form));
}
