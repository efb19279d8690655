import { expect, test, vi } from 'vitest';

/** A static import of one of these packages fails here. Loading it on first use does not. */
vi.mock('linkedom', () => {
  throw new Error('linkedom was loaded');
});
vi.mock('@mozilla/readability', () => {
  throw new Error('@mozilla/readability was loaded');
});
vi.mock('feedsmith', () => {
  throw new Error('feedsmith was loaded');
});

test('the catalogue of connectors is imported without the packages that read pages and feeds', async () => {
  const { CONNECTORS } = await import('../../../../src/extract/connectors/connector-table.ts');
  expect(CONNECTORS.length).toBeGreaterThan(10);
});

test('reading a page and a feed loads the packages on first use', async () => {
  const { readArticle } = await import('../../../../src/extract/read/article.ts');
  const { readFeed } = await import('../../../../src/extract/read/feed.ts');
  const { readHtml } = await import('../../../../src/extract/read/html.ts');
  const text = 'A sentence of the article, with a comma and some more words. '.repeat(20);
  const page = readHtml(`<body><div><p>${text}</p><p>${text}</p></div></body>`, 'https://a.example/');
  expect(readArticle(page)?.text).toContain('A sentence of the article');
  const feed = readFeed('<rss><channel><item><title>One</title></item></channel></rss>', 'https://a.example/feed');
  expect(feed.items.map(({ title }) => title)).toEqual(['One']);
});
