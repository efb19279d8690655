import { readFileSync } from 'node:fs';
import { readHtml, type HtmlPage } from '../../src/extract/read/html.ts';

/** A file of `test/pages`, made for these tests. */
export function pageText(name: string): string {
  return readFileSync(new URL(`../pages/${name}`, import.meta.url), 'utf8');
}

/** The same read as a page of `url`. */
export function page(name: string, url = 'https://site.example/dir/page'): HtmlPage {
  return readHtml(pageText(name), url);
}

/** Markup read as a page. */
export function markup(text: string, url = 'https://site.example/dir/page'): HtmlPage {
  return readHtml(text, url);
}
