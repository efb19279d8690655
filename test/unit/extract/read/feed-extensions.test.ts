import { describe, expect, test } from 'vitest';
import { inUsualForm } from '../../../../src/extract/read/feed-forms.ts';
import { readFeed, type FeedItem } from '../../../../src/extract/read/feed.ts';
import type { FeedExtensions } from '../../../../src/extract/read/feed-extensions.ts';
import { leastCpuMs } from '../../../support/cpu-time.ts';
import { pageText } from '../../../support/pages.ts';

const itemsOf = (name: string): readonly FeedItem[] =>
  readFeed(pageText(`feed/${name}`), 'https://site.example/feed').items;

/** Returns what the items of a feed have besides, without what is null. */
function known(items: readonly FeedItem[]): readonly (Partial<FeedExtensions> | null)[] {
  return items.map(({ extensions }) =>
    extensions === null
      ? null
      : (Object.fromEntries(
          Object.entries(extensions).filter(([, value]) => value !== null),
        ) as Partial<FeedExtensions>),
  );
}

describe('readFeed keeps what feeds of certain kinds say of an item besides', () => {
  test('a video of YouTube has its views, its rating and the address of its medium', () => {
    expect(known(itemsOf('youtube.xml'))).toEqual([
      {
        views: 48_151,
        rating: 5,
        ratingCount: 1_204,
        mediaUrls: ['https://www.youtube.com/v/a1B2c3D4e5F?version=3'],
      },
    ]);
  });

  test('a review of the App Store has its stars and version, and neither is among its categories', () => {
    const items = itemsOf('app-store.xml');
    expect(known(items)).toEqual([{ rating: 4, version: '3.2.1' }, null]);
    expect(items.map(({ categories }) => categories)).toEqual([[], ['Travel']]);
  });

  test('an episode of a podcast has its duration, season and number; what is no such number is null', () => {
    expect(known(itemsOf('podcast.xml'))).toEqual([
      { durationSeconds: 3_725, season: 2, episode: 7, episodeType: 'full' },
      {
        durationSeconds: 754,
        season: 3,
        episode: 1.5,
        mediaUrls: [
          'https://tides.example/player/3-1',
          'https://site.example/video/3-1.mp4',
          'https://site.example/video/3-1.webm',
        ],
      },
      null,
    ]);
  });

  test('a paper of arXiv has its DOI and PDF in the interface, and its DOI in the feed of a subject', () => {
    const doi = '10.1103/PhysRevD.76.013009';
    const [paper] = itemsOf('arxiv.xml');
    expect(known([paper as FeedItem])).toEqual([{ doi, pdfUrl: 'http://arxiv.org/pdf/2601.01234v2' }]);
    expect([paper?.url, paper?.categories]).toEqual(['http://arxiv.org/abs/2601.01234v2', ['physics.ao-ph']]);
    const announced = itemsOf('arxiv-rss.xml');
    expect(known(announced)).toEqual([{ doi }]);
    expect(announced[0]?.categories).toEqual(['physics.ao-ph']);
  });

  test('an article in the RDF feed of a journal has its DOI without the prefix', () => {
    expect(known(itemsOf('journal-rdf.xml'))).toEqual([{ doi: '10.1038/s41586-026-00001-1' }]);
  });

  test('a filing of EDGAR has its form type, which is no subject', () => {
    const filings = itemsOf('edgar.xml');
    expect(known(filings)).toEqual([{ formType: '8-K' }]);
    expect(filings[0]?.categories).toEqual([]);
    expect(known(itemsOf('edgar-xbrl.xml'))).toEqual([{ formType: '10-K' }]);
  });

  test('an attachment of a JSON feed has its duration', () => {
    const feed = (duration: unknown): string =>
      JSON.stringify({
        version: 'https://jsonfeed.org/version/1.1',
        title: 'Tides',
        items: [
          { id: '1', attachments: [{ url: '/a.mp3', mime_type: 'audio/mpeg', duration_in_seconds: duration }] },
          { id: '2' },
        ],
      });
    expect(known(readFeed(feed(90.4), 'https://tides.example/feed.json').items)).toEqual([
      { durationSeconds: 90 },
      null,
    ]);
    expect(known(readFeed(feed(1e12), 'https://tides.example/feed.json').items)).toEqual([null, null]);
  });
});

describe('extensions are bounded', () => {
  const rss = (inside: string): readonly FeedItem[] =>
    readFeed(
      `<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/" xmlns:im="http://itunes.apple.com/rss" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel><title>F</title><item><title>A</title>${inside}</item></channel></rss>`,
      'https://site.example/feed',
    ).items;

  test('an item has at most 20 media, and a text of over 200 characters is null', () => {
    const media = Array.from({ length: 100 }, (_, i) => `<media:content url="/m/${i}.mp4"/>`).join('');
    const text = (length: number): string => `<im:version>${'1'.repeat(length)}</im:version>`;
    const [item] = known(rss(media + text(201)));
    expect(item?.mediaUrls).toHaveLength(20);
    expect(item).not.toHaveProperty('version');
    expect(known(rss(text(200)))).toEqual([{ version: '1'.repeat(200) }]);
  });

  test('numbers outside their range are null', () => {
    const community = (views: string): string =>
      `<media:group><media:community><media:statistics views="${views}"/></media:community></media:group>`;
    expect(known(rss(community('-3')))).toEqual([null]);
    expect(known(rss(community('1e300')))).toEqual([null]);
    expect(known(rss('<im:rating>-1</im:rating><itunes:duration>-5</itunes:duration>'))).toEqual([null]);
  });

  test('a hostile feed of 8 MB is converted in under a second of processor time', () => {
    const head = '<rss version="2.0" xmlns:im="http://itunes.apple.com/rss"><channel>';
    for (const piece of [
      '<im:rating ',
      '<im:rating>',
      '<im:rating>5',
      '<im:version>1"</im:version>',
      '</im:xbrlFiling ',
    ]) {
      const text = head + piece.repeat(8_000_000 / piece.length);
      const ms = leastCpuMs(1_000, () => {
        expect(inUsualForm(text)).toContain('<channel>');
      });
      expect([piece, ms < 1_000]).toEqual([piece, true]);
    }
  });
});
