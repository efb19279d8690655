import { describe, expect, test } from 'vitest';
import { SourceFailure } from '../../../../src/extract/connector.ts';
import { readSitemap } from '../../../../src/extract/read/sitemap.ts';
import { pageText } from '../../../support/pages.ts';

const URL_OF = 'https://site.example/sitemap.xml';

test('a list of addresses, whatever its prefix, without those of pictures', () => {
  expect(readSitemap(pageText('sitemap/urlset.xml'), URL_OF)).toEqual({
    kind: 'urls',
    entries: [
      { url: 'https://site.example/a?x=1&y=2', lastModified: '2026-01-02T00:00:00Z' },
      { url: 'https://site.example/relative', lastModified: null },
      { url: 'https://site.example/b', lastModified: null },
    ],
  });
});

test('an index of further ones', () => {
  expect(readSitemap(pageText('sitemap/index.xml'), URL_OF)).toEqual({
    kind: 'index',
    entries: [
      { url: 'https://site.example/s1.xml.gz', lastModified: '2026-01-02T02:04:05Z' },
      { url: 'https://site.example/s2.xml', lastModified: null },
    ],
  });
});

test('a text of one address a line', () => {
  expect(readSitemap('\uFEFFhttps://site.example/1\r\n\r\nhttps://site.example/2\n', URL_OF)).toMatchObject({
    kind: 'urls',
    entries: [{ url: 'https://site.example/1' }, { url: 'https://site.example/2' }],
  });
});

test.each(['feed/rss.xml', 'feed/atom.xml', 'feed/rdf.xml'])('%s is told to be a feed', (name) => {
  expect(readSitemap(pageText(name), URL_OF)).toEqual({ kind: 'feed' });
});

test.each(['', 'not found', '<html><body>404</body></html>', 'https://site.example/1\nsorry', '<', '{"a":1}'])(
  '%s is none',
  (text) => expect(readSitemap(text, URL_OF)).toEqual({ kind: 'none' }),
);

describe('hostile files', () => {
  test('with entities are refused', () => {
    const bomb = '<!DOCTYPE u [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>';
    expect(() => readSitemap(bomb, URL_OF)).toThrow(SourceFailure);
    expect(readSitemap('<!DOCTYPE urlset><urlset/>', URL_OF)).toEqual({ kind: 'urls', entries: [] });
  });

  test('that break off give what came before', () => {
    const text = '<urlset><url><loc>https://site.example/1</loc></url><url><loc>https://site.exa';
    expect(readSitemap(text, URL_OF)).toMatchObject({ entries: [{ url: 'https://site.example/1' }] });
  });

  test('end at 50,000 addresses', () => {
    const text = `<urlset>${'<url><loc>https://site.example/1</loc></url>'.repeat(50_010)}</urlset>`;
    const read = readSitemap(text, URL_OF);
    expect(read.kind === 'urls' && read.entries.length).toBe(50_000);
  });
});
