import type { FakeReply } from '../support/fake-source.ts';
import { LARGE_PAGES, many, numberIn, type SourceCase, type World } from './source-case.ts';

/** Items of one page of a feed that is paged. */
const PAGE_SIZE = 400;

/** A site with a JSON Feed 1.1 and the same as RSS 2.0, paged as in RFC 5005, section 3. `isNamed`: the home page links to it. */
export function feedWorld(records: number, places: { readonly rss: string; readonly isNamed: boolean }): World {
  return ({ url: text }) => {
    const url = new URL(text);
    if (url.pathname === places.rss) return rss(url, records);
    if (url.pathname === '/feed.json') return jsonFeed(url, records);
    return url.pathname === '/' ? home(places.isNamed ? places.rss : null) : null;
  };
}

function home(rss: string | null): string {
  const link = rss === null ? '' : `<link rel="alternate" type="application/rss+xml" title="Posts" href="${rss}">`;
  return `<!doctype html><html lang="en"><head><title>Harbour</title>${link}</head><body><p>Welcome.</p></body></html>`;
}

/** The items of the page that is asked for, and the address of the next one. */
function pageOf<T>(url: URL, items: readonly T[]): { readonly shown: readonly T[]; readonly next: string | null } {
  const number = numberIn(url, 'paged', 1);
  const next = number * PAGE_SIZE < items.length ? `${url.pathname}?paged=${number + 1}` : null;
  return { shown: items.slice((number - 1) * PAGE_SIZE, number * PAGE_SIZE), next };
}

function rss(url: URL, records: number): FakeReply {
  const { shown, next } = pageOf(url, many(records, rssItem));
  const link = next === null ? '' : `<atom:link rel="next" href="${next}"/>`;
  return {
    headers: { 'content-type': 'application/rss+xml; charset=UTF-8' },
    body: `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel><title>Harbour</title><link>https://harbour.example/</link>${link}${shown.join('\n')}</channel></rss>`,
  };
}

function rssItem(place: number): string {
  return `<item><title>Entry ${place} &amp; more</title><link>https://harbour.example/${place}/</link>
<dc:creator><![CDATA[Ada Park]]></dc:creator><pubDate>Thu, 02 May 2024 08:00:00 +0000</pubDate>
<category><![CDATA[News]]></category><guid isPermaLink="false">https://harbour.example/?p=${place}</guid>
<description><![CDATA[<p>First&#8230;</p>]]></description>
<content:encoded><![CDATA[<p>First ${place}.</p><p>Second.</p>]]></content:encoded></item>`;
}

function jsonFeed(url: URL, records: number): FakeReply {
  const { shown, next } = pageOf(
    url,
    many(records, (place) => ({
      id: `https://harbour.example/${place}/`,
      url: `https://harbour.example/${place}/`,
      title: `Entry ${place}`,
      content_html: '<p>First.</p>',
      date_published: '2024-05-02T08:00:00Z',
      tags: ['News'],
    })),
  );
  return {
    headers: { 'content-type': 'application/feed+json' },
    body: JSON.stringify({
      version: 'https://jsonfeed.org/version/1.1',
      title: 'Harbour',
      ...(next === null ? {} : { next_url: `https://harbour.example${next}` }),
      items: shown,
    }),
  };
}

const COMMON = {
  connector: 'feed',
  paging: 'cursor',
  sizeAsked: null,
  hostIn: 'url',
  announcesTotal: false,
  largeCount: LARGE_PAGES,
  // A response that is not a feed is searched for a link to one; without such a link the run fails with `source_not_found`.
  searches: true,
} as const;

export const feedCases: readonly SourceCase[] = [
  {
    ...COMMON,
    operation: 'feed.items',
    input: { url: 'https://harbour.example/' },
    world: (records) => feedWorld(records, { rss: '/posts.rss', isNamed: true }),
  },
  {
    ...COMMON,
    operation: 'feed.items',
    input: { url: 'harbour.example/feed.json' },
    world: (records) => feedWorld(records, { rss: '/rss', isNamed: true }),
  },
  {
    ...COMMON,
    operation: 'company.posts',
    input: { url: 'harbour.example' },
    world: (records) => feedWorld(records, { rss: '/feed/', isNamed: false }),
  },
];
