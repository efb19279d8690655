import { expect, test, vi } from 'vitest';

/** A static import of this package fails here. Loading it on first use does not. */
vi.mock('feedsmith', () => {
  throw new Error('feedsmith was loaded');
});

test('the catalogue of connectors is imported without the package that reads feeds', async () => {
  const { CONNECTORS } = await import('../../../../src/extract/connectors/connector-table.ts');
  expect(CONNECTORS.length).toBeGreaterThan(10);
});

test('reading a feed loads the package on first use', async () => {
  const { readFeed } = await import('../../../../src/extract/read/feed.ts');
  const feed = readFeed('<rss><channel><item><title>One</title></item></channel></rss>', 'https://a.example/feed');
  expect(feed.items.map(({ title }) => title)).toEqual(['One']);
});
