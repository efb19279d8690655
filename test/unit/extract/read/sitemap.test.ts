import { array, assert, integer, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SourceFailure } from '../../../../src/extract/base/connector.ts';
import { SitemapReader, type Sitemap, type SitemapKind } from '../../../../src/extract/read/sitemap.ts';
import { pageText } from '../../../support/pages.ts';
import { readSitemap as readPart } from '../../../support/sitemap.ts';

const URL_OF = 'https://site.example/sitemap.xml';

/** Reads a part: entries from an index on, up to a number, whose URLs match. */
function readSitemap(text: string, url: string, { from = 0, max = 100_000, fits = /./ } = {}): Sitemap {
  const keeps = (found: string, kind: SitemapKind): boolean => kind === 'index' || fits.test(found);
  return readPart(text, url, { from, max: { urls: max, index: max }, keeps });
}

function entriesOf(sitemap: Sitemap): readonly string[] {
  return 'entries' in sitemap ? sitemap.entries.map(({ url }) => new URL(url).pathname) : [];
}

const list = (count: number): string =>
  Array.from({ length: count }, (_, i) => `<url><loc>https://site.example/${i}</loc></url>`).join('');

test('a sitemap with any prefix yields its URLs, without those of images', () => {
  expect(readSitemap(pageText('sitemap/urlset.xml'), URL_OF)).toEqual({
    kind: 'urls',
    entries: [
      { url: 'https://site.example/a?x=1&y=2', lastModified: '2026-01-02T00:00:00Z' },
      { url: 'https://site.example/relative', lastModified: null },
      { url: 'https://site.example/b', lastModified: null },
    ],
    next: null,
    breaksOff: false,
  });
});

test('a sitemap index yields further sitemaps', () => {
  expect(readSitemap(pageText('sitemap/index.xml'), URL_OF)).toEqual({
    kind: 'index',
    entries: [
      { url: 'https://site.example/s1.xml.gz', lastModified: '2026-01-02T02:04:05Z' },
      { url: 'https://site.example/s2.xml', lastModified: null },
    ],
    next: null,
    breaksOff: false,
  });
});

test('a text with one URL per line is a sitemap', () => {
  expect(readSitemap('\uFEFFhttps://site.example/1\r\n\r\nhttps://site.example/2\n', URL_OF)).toMatchObject({
    kind: 'urls',
    entries: [{ url: 'https://site.example/1' }, { url: 'https://site.example/2' }],
  });
});

test.each(['feed/rss.xml', 'feed/atom.xml', 'feed/rdf.xml'])('%s is recognised as a feed', (name) => {
  expect(readSitemap(pageText(name), URL_OF)).toEqual({ kind: 'feed' });
});

test.each(['', 'not found', '<html><body>404</body></html>', 'sorry\nhttps://site.example/1', '<', '{"a":1}'])(
  'the text %s is not a sitemap',
  (text) => expect(readSitemap(text, URL_OF)).toEqual({ kind: 'none' }),
);

test.each([
  '<br />\n<b>Warning</b>:  mysqli_connect(): (HY000/2002) in <b>/srv/www/db.php</b> on line <b>3</b><br />\n',
  'Notice: Undefined index: x in /srv/www/x.php on line 3\n',
  '<!-- cached -->\n\uFEFF',
  '<div><p>Unclosed<style>p > a { color: red }</style>',
  `${'<p>'.repeat(100)}\n`,
])('output before the root of a sitemap is skipped: %j', (before) => {
  const body = `<?xml version="1.0"?>\n<urlset>${list(3)}</urlset>`;
  expect(readSitemap(before + body, URL_OF)).toMatchObject({ kind: 'urls', entries: { length: 3 }, breaksOff: false });
  expect(readSitemap(`<?xml version="1.0"?>${before}<urlset>${list(3)}</urlset>`, URL_OF)).toMatchObject({
    entries: { length: 3 },
  });
});

test('an HTML page that quotes a list, and a file whose list starts too late, are not sitemaps', () => {
  const body = `<urlset>${list(3)}</urlset>`;
  expect(readSitemap(`<!doctype html><p>Like so: ${body}`, URL_OF)).toEqual({ kind: 'none' });
  expect(readSitemap(`<html><body>${body}</body></html>`, URL_OF)).toEqual({ kind: 'none' });
  expect(readSitemap(`${' x'.repeat(40_000)}${body}`, URL_OF)).toEqual({ kind: 'none' });
});

describe('sitemaps that arrive in chunks', () => {
  const whole = (): boolean => true;
  const PART = { from: 0, max: { urls: 100, index: 100 }, keeps: whole };

  test.each([
    pageText('sitemap/urlset.xml'),
    pageText('sitemap/index.xml'),
    `Notice: <b>x</b><br>\n<?xml version="1.0"?><urlset>${list(2)}</urlset>`,
    '\uFEFF \nhttps://site.example/1\r\n\r\nhttps://site.example/2\n',
    'https://site.example/1\rhttps://site.example/2',
    'https://site.example/1\nsorry',
    'not found',
  ])('a sitemap yields the same entries however it is split into chunks: %#', (text) => {
    const expected = readPart(text, URL_OF, PART);
    assert(
      property(array(integer({ min: 1, max: 40 }), { minLength: 1 }), (sizes) => {
        const reader = new SitemapReader(URL_OF, PART);
        for (let at = 0, i = 0; at < text.length; i++) {
          const size = sizes[i % sizes.length] ?? 1;
          if (!reader.write(text.slice(at, at + size))) break;
          at += size;
        }
        expect(reader.end()).toEqual(expected);
      }),
    );
  });

  test('a line without an end is not a sitemap', () => {
    const reader = new SitemapReader(URL_OF, PART);
    expect(reader.write('https://site.example/'.padEnd(200_000, 'x'))).toBe(false);
    expect(reader.end()).toEqual({ kind: 'none' });
  });
});

describe('hostile sitemaps', () => {
  test('a sitemap with entity declarations is rejected', () => {
    const bomb = '<!DOCTYPE u [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>';
    expect(() => readSitemap(bomb, URL_OF)).toThrow(SourceFailure);
    expect(readSitemap('<!DOCTYPE urlset><urlset/>', URL_OF)).toEqual({
      kind: 'urls',
      entries: [],
      next: null,
      breaksOff: false,
    });
  });

  test('a truncated sitemap yields the entries before the end', () => {
    const text = '<urlset><url><loc>https://site.example/1</loc></url><url><loc>https://site.exa';
    expect(readSitemap(text, URL_OF)).toMatchObject({ entries: [{ url: 'https://site.example/1' }], breaksOff: true });
  });

  test('a sitemap whose URL contains a bare & loses nothing', () => {
    const urls = '<url><loc>https://site.example/a?x=1&y=2;3&amp;z=&#x34;</loc><image:loc>/p?a&b</image:loc></url>';
    const found = readSitemap(`<urlset>${urls.repeat(2)}${list(3)}</urlset>`, URL_OF);
    expect(found).toMatchObject({ entries: { length: 5 }, breaksOff: false });
    expect(found).toMatchObject({ entries: [{ url: 'https://site.example/a?x=1&y=2;3&z=4' }, {}, {}, {}, {}] });
  });

  test('a sitemap with an unclosed comment ends there', () => {
    expect(readSitemap(`<urlset>${list(2)}<!-- ${list(5)}</urlset>`, URL_OF)).toMatchObject({
      entries: { length: 2 },
      breaksOff: true,
    });
  });

  test('a list of lines loses only the lines that are not URLs', () => {
    const found = readSitemap('https://site.example/1\n# more\nhttps://site.example/2', URL_OF);
    expect(entriesOf(found)).toEqual(['/1', '/2']);
  });

  test('an endlessly nested sitemap is rejected, because it is unknown how much of it is lost', () => {
    const text = `<urlset>${list(3)}${'<a></b>'.repeat(1_100)}</urlset>`;
    expect(() => readSitemap(text, URL_OF)).toThrow(SourceFailure);
    expect(() => readSitemap(`<urlset>${'<a>'.repeat(100)}`, URL_OF)).toThrow(SourceFailure);
  });
});

describe('parts of a long sitemap', () => {
  const text = `<urlset>${list(60_000)}</urlset>`;

  test('a part follows an entry, and names the start of the next part', () => {
    const first = readSitemap(text, URL_OF, { max: 10_000 });
    expect([entriesOf(first).length, first]).toEqual([10_000, expect.objectContaining({ next: 10_000 })]);
    const last = readSitemap(text, URL_OF, { from: 55_000, max: 10_000 });
    expect(entriesOf(last)).toEqual(Array.from({ length: 5_000 }, (_, i) => `/${55_000 + i}`));
    expect(last).toMatchObject({ next: null });
  });

  test('unwanted entries are skipped, and there is no next part if only they follow', () => {
    const part = readSitemap(text, URL_OF, { from: 10, max: 3, fits: /000$/ });
    expect([entriesOf(part), part]).toEqual([['/1000', '/2000', '/3000'], expect.objectContaining({ next: 4_000 })]);
    expect(readSitemap(text, URL_OF, { from: 10, max: 1, fits: /\/59999$/ })).toMatchObject({ next: null });
  });

  test('parts also work for lists of lines', () => {
    const lines = Array.from({ length: 10 }, (_, i) => `https://site.example/${i}`).join('\n');
    const part = readSitemap(lines, URL_OF, { from: 2, max: 3 });
    expect([entriesOf(part), part]).toEqual([['/2', '/3', '/4'], expect.objectContaining({ next: 5 })]);
  });

  test('a part holds at most a few megabytes of URLs', () => {
    const long = 'x'.repeat(2_000);
    const urls = Array.from({ length: 3_000 }, (_, i) => `<url><loc>https://site.example/${long}/${i}</loc></url>`);
    const part = readSitemap(`<urlset>${urls.join('')}</urlset>`, URL_OF);
    expect(entriesOf(part).length).toBeLessThan(2_100);
    expect(part).toMatchObject({ next: entriesOf(part).length });
  });

  test('nothing is searched after the end of a part', () => {
    const broken = `<urlset>${list(10_000)}${'<a></b>'.repeat(1_100)}</urlset>`;
    expect(entriesOf(readSitemap(broken, URL_OF, { max: 5 }))).toHaveLength(5);
  });
});
