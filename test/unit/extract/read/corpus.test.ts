import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readArticle } from '../../../../src/extract/read/article.ts';
import { markup, pageText } from '../../../support/pages.ts';

/** The first line of each page of the corpus is a comment with what a person reads off the page; null if the page does not contain it. */
interface Expected {
  readonly url: string;
  readonly title: string;
  readonly byline: string | null;
  readonly date: string | null;
}

const FOLDER = new URL('../../../pages/corpus/', import.meta.url);

const PAGES = readdirSync(FOLDER).map((file) => {
  const text = pageText(`corpus/${file}`);
  const [first = '', ...rest] = text.split('\n');
  const expected = JSON.parse(first.slice('<!--'.length, -'-->'.length)) as Expected;
  return { name: file, expected, markup: rest.join('\n') };
});

describe.each(PAGES)('the article of $name', ({ expected, markup: text }) => {
  test('the article has the expected title, authors and date', () => {
    const article = readArticle(markup(text, expected.url));
    expect({ title: article?.title, byline: article?.byline, date: article?.publishedAt }).toEqual({
      title: expected.title,
      byline: expected.byline,
      date: expected.date,
    });
  });
});
