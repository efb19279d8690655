import { describe, expect, test } from 'vitest';
import { SourceFailure } from '../../../../src/extract/base/connector.ts';
import { readFeedLinks } from '../../../../src/extract/read/feed-links.ts';
import { looksLikeFeed } from '../../../../src/extract/read/feed-parse.ts';
import { readFeed } from '../../../../src/extract/read/feed.ts';
import { leastCpuMs } from '../../../support/cpu-time.ts';
import { page, pageText } from '../../../support/pages.ts';

describe('readFeed converts each format', () => {
  test('readFeed reads an RSS feed', () => {
    const feed = readFeed(pageText('feed/rss.xml'), 'https://coast.example/feed');
    expect(feed).toMatchObject({
      format: 'rss',
      title: 'Harbour & coast',
      siteUrl: 'https://coast.example/',
      language: 'en-US',
      nextUrl: 'https://coast.example/feed?page=2',
    });
    expect(feed.items).toEqual([
      {
        id: 'coast-1',
        url: 'https://coast.example/news/1',
        title: 'Ferries delayed & cancelled',
        authors: ['Ada Quist'],
        publishedAt: '2026-03-02T13:15:00Z',
        updatedAt: null,
        summary: 'Fog on the sound.',
        text: 'Fog on the sound.\nNo boats till noon.',
        categories: ['Ferries', 'Weather'],
        imageUrl: 'https://coast.example/img/1.jpg',
        enclosures: [{ url: 'https://coast.example/audio/1.mp3', type: 'audio/mpeg', bytes: 1_234 }],
        extensions: null,
        markup: expect.stringContaining('No boats till noon'),
        baseUrl: 'https://coast.example/feed',
      },
      expect.objectContaining({
        id: 'https://coast.example/news/2',
        url: 'https://coast.example/news/2',
        publishedAt: null,
      }),
    ]);
  });

  test('readFeed reads an Atom feed with links relative to xml:base', () => {
    const feed = readFeed(pageText('feed/atom.xml'), 'https://elsewhere.example/feed.atom');
    expect(feed).toMatchObject({ format: 'atom', title: 'Le blog', siteUrl: 'https://blog.example/', language: 'fr' });
    expect(feed.items).toEqual([
      {
        id: 'tag:blog.example,2026:1',
        url: 'https://blog.example/posts/2026/un.html',
        title: 'Un',
        authors: ['Équipe'],
        publishedAt: '2026-02-01T00:30:00Z',
        updatedAt: '2026-02-01T10:00:00.250Z',
        summary: 'Court & bon',
        text: 'Long texte',
        categories: ['Pain'],
        imageUrl: 'https://blog.example/posts/2026/photo.png',
        enclosures: [{ url: 'https://blog.example/posts/2026/photo.png', type: 'image/png', bytes: 99 }],
        extensions: null,
        markup: '<p>Long <b>texte</b></p>',
        baseUrl: 'https://blog.example/posts/2026/',
      },
      expect.objectContaining({
        authors: ['Zoé'],
        url: 'https://blog.example/posts/deux.html',
        publishedAt: '2026-02-02T00:00:00Z',
      }),
    ]);
  });

  test('readFeed reads an RDF feed', () => {
    expect(readFeed(pageText('feed/rdf.xml'), 'https://old.example/rdf').items).toEqual([
      expect.objectContaining({
        id: 'https://old.example/1',
        url: 'https://old.example/1',
        title: 'One',
        authors: ['Jo'],
        publishedAt: '2004-05-06T07:08:09Z',
        categories: ['Rocks'],
      }),
    ]);
  });

  test('readFeed reads a JSON feed', () => {
    const feed = readFeed(pageText('feed/feed.jsonfeed'), 'https://json.example/feed.json');
    expect(feed).toMatchObject({ format: 'json', nextUrl: 'https://json.example/feed.json?page=2' });
    expect(feed.items).toEqual([
      expect.objectContaining({
        id: '7',
        url: 'https://json.example/seven',
        authors: ['Whole team'],
        publishedAt: '2025-12-31T23:00:00Z',
        text: 'a\nb',
        imageUrl: 'https://json.example/seven.png',
        enclosures: [{ url: 'https://json.example/a.pdf', type: 'application/pdf', bytes: 5 }],
      }),
      expect.objectContaining({ id: '8', url: 'https://else.example/8', authors: ['Kim'], text: 'plain < text' }),
    ]);
  });
});

test.each([
  ['ada@example.com (Ada Quist)', ['Ada Quist']],
  ['ada@example.com', []],
  ['mailto:ada@example.com (Ada)', ['Ada']],
  ['Ada Quist', ['Ada Quist']],
  ['Ada (Coast) Quist', ['Ada (Coast) Quist']],
])('the RSS author %j is returned without the e-mail address', (author, names) => {
  const text = `<rss version="2.0"><channel><item><title>a</title><author>${author}</author></item></channel></rss>`;
  expect(readFeed(text, 'https://x.example/f').items[0]?.authors).toEqual(names);
});

describe('old feed formats', () => {
  const base64 = (text: string, encoding?: BufferEncoding): string => Buffer.from(text, encoding).toString('base64');

  test('Base64 content of an old feed is decoded for any line length and encoding, unless it is not text', () => {
    const text = `<feed version="0.3" xmlns="http://purl.org/atom/ns#"><title type="text/plain" mode='base64'>${base64('Fog & co')}</title>
      <entry><id>a</id><title>One</title><summary mode="base64" type="text/plain">${base64('Größe', 'latin1')}</summary>
      <content type="text/html" mode="base64">\n${base64('<p>Hallo <b>Welt</b> &amp; mehr</p>').replaceAll(/(.{10})/g, '$1\r\n')}</content></entry>
      <entry><id>b</id><content type="image/png" mode="base64">iVBORw0KGgo=</content><summary>aGk=</summary></entry></feed>`;
    const feed = readFeed(text, 'https://x.example/f');
    expect(feed.title).toBe('Fog & co');
    expect(feed.items.map(({ id, summary, text: content }) => [id, summary, content])).toEqual([
      ['a', 'Größe', 'Hallo Welt & mehr'],
      ['b', 'aGk=', null],
    ]);
  });

  test.each([
    ['on all elements', 'rss2:', 'rss2:'],
    ['on all elements except the root', '', 'r:'],
  ])('the elements of an RSS 2.0 feed may have a prefix: %s', (_what, root, p) => {
    const text =
      `<?xml version="1.0"?><${root}rss version="2.0" xmlns:${p}="http://backend.userland.com/rss2" xmlns:dc="http://purl.org/dc/elements/1.1/">
      <${p}channel><${p}title>T</${p}title><${p}item><${p}title>One</${p}title><${p}link>https://x.example/1</${p}link><dc:creator>Ada</dc:creator>
      <${p}pubDate>Sat, 31 Jan 2026 10:15:30 GMT</${p}pubDate></${p}item></${p}channel></${root}rss>`.replaceAll(
        ':="',
        '="',
      );
    expect(looksLikeFeed(text)).toBe(true);
    expect(readFeed(text, 'https://x.example/f')).toMatchObject({
      format: 'rss',
      title: 'T',
      items: [{ title: 'One', url: 'https://x.example/1', authors: ['Ada'], publishedAt: '2026-01-31T10:15:30Z' }],
    });
  });

  test('a feed with unclosed tags takes time in proportion to its length', () => {
    const open = `<feed mode="base64"><entry>${'<content type="text/html" '.repeat(100_000)}`;
    const ms = leastCpuMs(3_000, () => {
      expect(() => readFeed(open, 'https://x.example/f')).toThrow(SourceFailure);
    });
    expect(ms).toBeLessThan(3_000);
  });
});

describe('broken feeds', () => {
  test('a broken feed loses only its broken items', () => {
    const feed = readFeed(pageText('feed/broken.xml'), 'https://b.example/feed');
    expect(feed.items.map(({ title, url }) => [title, url])).toEqual([
      ['First & foremost', 'https://b.example/?a=1&b=2'],
      ['Third one', 'https://b.example/3'],
    ]);
  });

  test.each(['', 'hello', '<html><body>404</body></html>', '{"version":"1"}', '<rss>', '<feed'])(
    'readFeed fails with parse_failed for %s',
    (text) => {
      expect(() => readFeed(text, 'https://x.example/')).toThrow(SourceFailure);
    },
  );

  test('a feed with expanding entities stays small', () => {
    const bomb = `<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>`;
    const text = `${bomb}<rss version="2.0"><channel><item><title>&b;&b;</title><link>/x</link></item></channel></rss>`;
    expect(readFeed(text, 'https://x.example/').items[0]?.title?.length).toBeLessThan(10);
  });
});

describe('feed detection', () => {
  test.each(['rss.xml', 'atom.xml', 'rdf.xml', 'feed.jsonfeed', 'broken.xml'])(
    'looksLikeFeed recognises %s',
    (name) => {
      expect(looksLikeFeed(pageText(`feed/${name}`))).toBe(true);
    },
  );

  test('looksLikeFeed does not recognise pages', () => {
    expect(looksLikeFeed('<!doctype html><html><body><rss></body></html>')).toBe(false);
    expect(looksLikeFeed('{"items":[]}')).toBe(false);
  });

  test('readFeedLinks finds the feeds of a page, those of comments last, and ignores other alternates', () => {
    expect(readFeedLinks(page('platform/wordpress.page', 'https://wp.example/blog/'))).toEqual([
      { url: 'https://wp.example/blog/feed/', title: 'Blog' },
      { url: 'https://wp.example/blog/comments/feed/', title: 'Blog » Comments Feed' },
    ]);
  });
});

test.each([
  ['rss', '<rss version="2.0"><channel>', '<item><title>a</title></item>', '</channel></rss>'],
  ['atom', '<feed xmlns="http://www.w3.org/2005/Atom">', '<entry><id>a</id></entry>', '</feed>'],
  [
    'rdf',
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">',
    '<item><title>a</title></item>',
    '</rdf:RDF>',
  ],
  ['json', '{"version":"https://jsonfeed.org/version/1.1","title":"x","items":[{"id":0}', ',{"id":1}', ']}'],
  ['one that is broken', '<rss version="2.0"><channel>', '<item><title>a</title></item>', '<item></b'],
])('a feed in the format %s reports whether it has more items than are read', (format, open, item, end) => {
  const ahead = format === 'json' ? 1 : 0;
  const read = (count: number) => readFeed(`${open}${item.repeat(count - ahead)}${end}`, 'https://x.example/f');
  const feed = read(5_001);
  expect([feed.items.length, feed.isCut]).toEqual([5_000, true]);
  // Each item of a broken feed is parsed separately, which is slow.
  const count = format === 'one that is broken' ? 3 : 5_000;
  const whole = read(count);
  expect([whole.items.length, whole.isCut]).toEqual([count, false]);
});
