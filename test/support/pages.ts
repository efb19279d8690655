import { readFileSync } from 'node:fs';
import { readHtml, type HtmlPage } from '../../src/extract/read/html.ts';

/** Reads a file of `test/pages`, written for these tests. */
export function pageText(name: string): string {
  return readFileSync(new URL(`../pages/${name}`, import.meta.url), 'utf8');
}

/** Parses such a file as a page of `url`. */
export function page(name: string, url = 'https://site.example/dir/page'): HtmlPage {
  return readHtml(pageText(name), url);
}

/** Parses markup as a page. */
export function markup(text: string, url = 'https://site.example/dir/page'): HtmlPage {
  return readHtml(text, url);
}
