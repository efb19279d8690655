import { describe, expect, test } from 'vitest';
import { readArticle } from '../../src/extract/read/article.ts';
import { readHtml } from '../../src/extract/read/html.ts';
import { READING_PAGES } from './pages.ts';
import { meanOf, scoreWords } from './score.ts';

/**
 * Measured values, less .02. Measured: if the page's own `main` or `article` always were its text, news .80, blog .86, forum .89, product
 * .65, listing .94, service .86, collection .89.
 */
const FLOORS: Readonly<Record<string, number>> = {
  news: 0.98,
  blog: 0.98,
  documentation: 0.98,
  forum: 0.98,
  product: 0.98,
  listing: 0.95,
  service: 0.98,
  collection: 0.95,
};

const READ = READING_PAGES.map(({ kind, name, url, html, text }) => {
  const read = readArticle(readHtml(html, url))?.text ?? '';
  return { kind, name, read, score: scoreWords(read, text) };
});

describe('the pages of the reading set', () => {
  test('the set has at least 60 pages', () => {
    expect(READING_PAGES.length).toBeGreaterThanOrEqual(60);
  });

  test.each(Object.entries(FLOORS))('the mean F1 of the words of %s is at least %d', (kind, floor) => {
    const pages = READ.filter((page) => page.kind === kind);
    expect(meanOf(pages.map(({ score }) => score.f1))).toBeGreaterThanOrEqual(floor);
  });

  test('no text contains words that the page hides', () => {
    expect(READ.filter(({ read }) => read.includes('Unseen:')).map(({ name }) => name)).toEqual([]);
  });
});
