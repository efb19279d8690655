import type { Page } from '../base/connector.ts';
import { escapeMarkup, readHtml, type HtmlPage } from './html.ts';

/** Choice: servers call pages `text/plain` too; one that begins with a tag is a page. */
const MARKUP = /^\s*<[!?a-z]/i;

/** Parses a page. A plain text is one without tags: its `<` and `&` are characters, and its blank lines separate paragraphs. */
export function readPageHtml({ text, url, contentType }: Pick<Page, 'text' | 'url' | 'contentType'>): HtmlPage {
  const isPlain = contentType === 'text/plain' && !MARKUP.test(text.slice(0, 1_024));
  return readHtml(isPlain ? markupOfText(text) : text, url);
}

function markupOfText(text: string): string {
  return `<main>${text
    .replaceAll(/\r\n?/g, '\n')
    .split(/\n(?:[ \t\f]*\n)+/)
    .map((paragraph) => `<p>${escapeMarkup(paragraph)}</p>`)
    .join('\n')}</main>`;
}
