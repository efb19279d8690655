import { expect, test, vi } from 'vitest';

/** A static import of one of these fails here; what is loaded when it is first needed does not. */
vi.mock('linkedom', () => {
  throw new Error('linkedom was loaded');
});
vi.mock('@mozilla/readability', () => {
  throw new Error('@mozilla/readability was loaded');
});
vi.mock('feedsmith', () => {
  throw new Error('feedsmith was loaded');
});

test('the catalogue of connectors comes without the packages that read pages and feeds', async () => {
  const { CONNECTORS } = await import('../../../../src/extract/connectors/index.ts');
  expect(CONNECTORS.length).toBeGreaterThan(10);
});

test('a page and a feed are read by the packages themselves all the same', async () => {
  const { readArticle } = await import('../../../../src/extract/read/article.ts');
  const { readFeed } = await import('../../../../src/extract/read/feed.ts');
  const { readHtml } = await import('../../../../src/extract/read/html.ts');
  const text = 'A sentence of the article, with a comma and some more words. '.repeat(20);
  const page = readHtml(`<body><div><p>${text}</p><p>${text}</p></div></body>`, 'https://a.example/');
  expect(readArticle(page)?.text).toContain('A sentence of the article');
  const feed = readFeed('<rss><channel><item><title>One</title></item></channel></rss>', 'https://a.example/feed');
  expect(feed.items.map(({ title }) => title)).toEqual(['One']);
});
