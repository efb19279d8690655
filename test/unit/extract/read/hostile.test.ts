import { getOuterHTML } from 'domutils';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SourceFailure } from '../../../../src/extract/base/connector.ts';
import { readArticle } from '../../../../src/extract/read/article.ts';
import { decodeText } from '../../../../src/extract/read/charset.ts';
import { readFeedLinks } from '../../../../src/extract/read/feed-links.ts';
import { readFeed } from '../../../../src/extract/read/feed.ts';
import { readHtml, type HtmlPage } from '../../../../src/extract/read/html.ts';
import { parseLooseJson } from '../../../../src/extract/read/json-repair.ts';
import { readLinks } from '../../../../src/extract/read/links.ts';
import { readMeta } from '../../../../src/extract/read/meta.ts';
import { decimalOf } from '../../../../src/extract/read/products.ts';
import { readReviews } from '../../../../src/extract/read/reviews.ts';
import { detectPlatform } from '../../../../src/extract/read/platform.ts';
import { readSitemap } from '../../../support/sitemap.ts';
import { readStructured } from '../../../../src/extract/read/structured.ts';
import { readTables } from '../../../../src/extract/read/page-tables.ts';
import { pageText } from '../../../support/pages.ts';
import { leastCpuMs } from '../../../support/cpu-time.ts';
import { timesInFull } from '../../../support/long.ts';
import { ANY_CHARACTER } from '../../../support/any-text.ts';

const URL_OF = 'https://site.example/page';

const WHOLE_LIST = { from: 0, max: { urls: 50_000, index: 50_000 }, keeps: () => true };

const PAGE_READERS: readonly (readonly [name: string, read: (page: HtmlPage) => unknown])[] = [
  ['article', (page) => readArticle(page)],
  ['structured', readStructured],
  ['links', (page) => readLinks(page)],
  ['tables', readTables],
  ['meta', (page) => readMeta(page)],
  ['platform', (page) => detectPlatform(page)],
  ['feed links', readFeedLinks],
];
const TEXT_READERS: readonly (readonly [name: string, read: (text: string) => unknown])[] = [
  ['feed', (text) => readFeed(text, URL_OF)],
  ['sitemap', (text) => readSitemap(text, URL_OF, WHOLE_LIST)],
  ['JSON', (text) => parseLooseJson(text)],
];
const READERS: typeof TEXT_READERS = [
  ...PAGE_READERS.map(([name, read]) => [name, (text: string) => read(readHtml(text, URL_OF))] as const),
  ...TEXT_READERS,
];

const PAGES = [
  'article/news.page',
  'structured/broken-json-ld.page',
  'structured/microdata.page',
  'tables/tables.page',
  'links/links.page',
  'feed/rss.xml',
  'feed/atom.xml',
  'feed/rdf.xml',
  'feed/feed.jsonfeed',
  'sitemap/urlset.xml',
].map(pageText);

/** A page with a part removed, duplicated or replaced by noise. */
const mutated = fc
  .tuple(
    fc.constantFrom(...PAGES),
    fc.nat(),
    fc.nat({ max: 200 }),
    fc.string({ unit: ANY_CHARACTER, maxLength: 20 }),
    fc.nat({ max: 3 }),
  )
  .map(([text, place, length, noise, times]) => {
    const at = place % text.length;
    return text.slice(0, at) + text.slice(at, at + length).repeat(times) + noise + text.slice(at + length);
  });

/** For any text, a reader must return something serialisable as JSON or throw a `SourceFailure`. */
function holds<Given>(read: (given: Given) => unknown, given: Given): boolean {
  const outcome = outcomeOf(read, given);
  if (outcome instanceof SourceFailure) return outcome.reason === 'parse_failed';
  return JSON.stringify({ outcome }) !== '';
}

function outcomeOf<Given>(read: (given: Given) => unknown, given: Given): unknown {
  try {
    return read(given);
  } catch (error) {
    if (error instanceof SourceFailure) return error;
    throw error;
  }
}

describe.each(READERS)('the reader of %s', (_name, read) => {
  test('the reader accepts any text', () => {
    const run = fc.check(
      fc.property(fc.string({ unit: ANY_CHARACTER, maxLength: 500 }), (text) => holds(read, text)),
      { seed: 1, numRuns: 100 },
    );
    expect(fc.defaultReportMessage(run) ?? 'holds').toBe('holds');
  });

  test('the reader accepts any decoded bytes', () => {
    const bytes = fc.uint8Array({ maxLength: 300 });
    const run = fc.check(
      fc.property(bytes, (data) => holds(read, decodeText(data, null).text)),
      { seed: 2, numRuns: 100 },
    );
    expect(fc.defaultReportMessage(run) ?? 'holds').toBe('holds');
  });

  test('the reader accepts damaged pages', () => {
    const run = fc.check(
      fc.property(mutated, (text) => holds(read, text)),
      { seed: 3, numRuns: timesInFull(150) },
    );
    expect(fc.defaultReportMessage(run) ?? 'holds').toBe('holds');
  });
});

test.each(PAGE_READERS)('the reader of %s does not modify a page', (_name, read) => {
  for (const text of PAGES) {
    const page = readHtml(text, URL_OF);
    const before = getOuterHTML(page.root);
    outcomeOf(read, page);
    expect(getOuterHTML(page.root)).toBe(before);
  }
});

const HOSTILE: readonly (readonly [name: string, text: string])[] = [
  ['very many nested tags', '<div>'.repeat(timesInFull(100_000))],
  ['a very long attribute', `<a href="${'x'.repeat(timesInFull(1_048_576))}">x</a>`],
  ['very many tables', '<table><tr><td>1</td></tr></table>'.repeat(timesInFull(50_000))],
  ['unmatched closing tags', `${'<div>'.repeat(500)}${'</x>'.repeat(timesInFull(400_000))}`],
  ['only opening brackets', '<'.repeat(timesInFull(1_000_000))],
  [
    'text nested in many elements',
    `${'<div>'.repeat(250)}${'<p>some words, and more</p>'.repeat(timesInFull(10_000))}`,
  ],
  [
    'items that share a part',
    `<div id=x>${'<b itemprop=a>1</b>'.repeat(timesInFull(5_000))}</div>${'<div itemscope itemref=x></div>'.repeat(timesInFull(5_000))}`,
  ],
  [
    'items that share one text',
    `<div id=x itemprop=a>${'<i>x</i> '.repeat(30_000)}</div>${'<div itemscope itemref=x></div>'.repeat(900)}`,
  ],
  ['spanning cells', `<table>${`<tr>${'<td colspan=1000 rowspan=65534>x'.repeat(100)}`.repeat(300)}`],
  [
    'unclosed items',
    `<rss version="2.0"><channel>${'<item>'.repeat(timesInFull(100_000))}${'</item>'.repeat(timesInFull(100_000))}`,
  ],
  ['nested elements in XML', `<urlset>${'<a>'.repeat(timesInFull(100_000))}`],
  ['quotes and escapes', String.raw`\"`.repeat(timesInFull(200_000))],
  ['unclosed comments', '/*'.repeat(timesInFull(300_000))],
];

const MAIN = `<main>${'<p>some words</p>'.repeat(100)}</main>`;

/** Input that is expensive for the article reader in particular: it looks for titles, names and dates, and skips scripts. */
const HOSTILE_ARTICLES: readonly (readonly [name: string, text: string])[] = [
  ['author marks around one text', `${'<b class=author>'.repeat(250)}${'By Ada '.repeat(timesInFull(100_000))}`],
  ['a name and a date in every line', '<p>By Ada Quist, 17 May 2024</p>'.repeat(timesInFull(30_000))],
  ['nested dates', `${'<time class=published>'.repeat(250)}${'17 May 2024 '.repeat(timesInFull(50_000))}`],
  ['a title full of separators', `<title>${' - x'.repeat(timesInFull(200_000))}</title><h1>x</h1>`],
  ['unclosed scripts', '<script>'.repeat(timesInFull(200_000))],
  ['fragments of closing script tags', `<script>${'</scrip'.repeat(timesInFull(200_000))}`],
  ['empty scripts', '<script></script>'.repeat(timesInFull(50_000))],
  ['unclosed markup comments', '<!--'.repeat(timesInFull(300_000))],
  ['a feed named by its kind, many times', withFeed(`${'rss '.repeat(26)}!`)],
  ['a feed with a long name', withFeed(`a${' '.repeat(timesInFull(200_000))}b`)],
  [
    'a family name and many spaces',
    `<meta name=citation_author content="a,${' '.repeat(timesInFull(200_000))},b">${MAIN}`,
  ],
  ['headings of lists', '<h2>Related</h2>'.repeat(60_000)],
  ['headings of lists, each in a box', '<div><h2>Related</h2></div><ul><li><a href=x>x</a></ul>'.repeat(15_000)],
  ['nested headers', `${'<header>'.repeat(250)}${'<p>some words and more</p>'.repeat(20_000)}`],
  ['line breaks in nested elements', `${'<div>'.repeat(250)}<a href=x>x</a>${'<br>'.repeat(200_000)}`],
  ['very many nodes', '<div class="a b c"><i>x</i></div>'.repeat(83_000)],
  ['articles in nested elements', `${'<div>'.repeat(250)}${'<article>x</article>'.repeat(100_000)}`],
  ['unclosed CDATA', '<![CDATA['.repeat(timesInFull(200_000))],
];

/** A page whose title may end in the site's name, and an address of its feed. */
function withFeed(title: string): string {
  return `<title>A - B</title><link rel=alternate type="application/rss+xml" title="${title}">${MAIN}`;
}

/** Input that is expensive for the feed reader in particular: old formats and broken markup are read by expressions of our own. */
const HOSTILE_FEEDS: readonly (readonly [name: string, text: string])[] = [
  ['unclosed roots', `<item >${'<rss '.repeat(timesInFull(100_000))}`],
  ['many modes in one tag', `<feed><info ${'mode="base64" '.repeat(timesInFull(100_000))}>AA==<`],
  ['many tags with a mode', `<feed>${'<info mode="base64">AA=='.repeat(timesInFull(100_000))}`],
  ['spaces after Base64', `<feed><info mode="base64">AA==</info${' '.repeat(timesInFull(500_000))}x`],
];

/** Choice: four times the slowest one measured on an idle machine. Quadratic behaviour takes far longer. */
const MS_MAX = 3_000;

describe.each(HOSTILE)('%s', (_name, text) => {
  /** Readers do not modify a page, so one page serves all of them. The time to create it is counted for each. */
  let page: HtmlPage | null = null;
  let pageMs = Number.POSITIVE_INFINITY;
  beforeAll(() => {
    pageMs = leastCpuMs(MS_MAX, () => void (page = readHtml(text, URL_OF)));
  });
  afterAll(() => {
    page = null;
  });

  test.each(PAGE_READERS)('the reader of %s ends soon on this hostile page', (_reader, read) => {
    const ms = leastCpuMs(MS_MAX - pageMs, () => {
      expect(page !== null && holds(read, page)).toBe(true);
    });
    expect(pageMs + ms).toBeLessThan(MS_MAX);
  });

  test.each(TEXT_READERS)('the reader of %s ends soon on this hostile text', (_reader, read) => {
    const ms = leastCpuMs(MS_MAX, () => {
      expect(holds(read, text)).toBe(true);
    });
    expect(ms).toBeLessThan(MS_MAX);
  });
});

test.each(HOSTILE_ARTICLES)('the article reader ends soon on hostile input: %s', (_name, text) => {
  const ms = leastCpuMs(MS_MAX, () => {
    expect(holds((given) => readArticle(readHtml(given, URL_OF)), text)).toBe(true);
  });
  expect(ms).toBeLessThan(MS_MAX);
});

test.each(HOSTILE_FEEDS)('the feed reader ends soon on hostile input: %s', (_name, text) => {
  const ms = leastCpuMs(MS_MAX, () => {
    expect(holds((given) => readFeed(given, URL_OF), text)).toBe(true);
  });
  expect(ms).toBeLessThan(MS_MAX);
});

test('the reader of reviews ends soon on reviews that share one long name', () => {
  const product = { '@type': 'Product', '@id': '#a', name: 'x'.repeat(500_000) };
  const reviews = Array.from({ length: 4_000 }, () => ({
    '@type': 'Review',
    itemReviewed: { '@id': '#a' },
    reviewBody: 'good',
  }));
  const script = JSON.stringify({ '@graph': [product, ...reviews] });
  const page = readHtml(`<script type="application/ld+json">${script}</script>`, URL_OF);
  const ms = leastCpuMs(MS_MAX, () => {
    expect(readReviews(readStructured(page), URL_OF)).toHaveLength(reviews.length);
  });
  expect(ms).toBeLessThan(MS_MAX);
});

test('the reader of prices ends soon on a text of commas', () => {
  const text = `${','.repeat(timesInFull(1_000_000))}1`;
  const ms = leastCpuMs(MS_MAX, () => {
    expect(decimalOf(text)).toBeNull();
  });
  expect(ms).toBeLessThan(MS_MAX);
});
