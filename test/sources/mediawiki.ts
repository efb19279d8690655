import type { JsonObject } from '../../src/extract/base/connector.ts';
import type { FakeReply } from '../support/fake-source.ts';
import { LARGE_PAGES, json, many, numberIn, sizeIn, type SourceCase, type World } from './source-case.ts';

/**
 * A wiki. Shapes: API:Search, API:Revisions, API:Categorymembers, API:Parsing wikitext, API:Siteinfo and API:Continue of
 * mediawiki.org, all in `formatversion=2`; errors: API:Errors and warnings; lag: Manual:Maxlag parameter.
 */
export function mediawikiWorld(records: number, path = '/w/api.php', host = 'wiki.example.org'): World {
  return ({ url: text }) => {
    const url = new URL(text);
    if (url.pathname !== path) return null;
    const query = url.searchParams;
    if (query.get('format') !== 'json' || query.get('formatversion') !== '2')
      return '<!DOCTYPE html><title>API</title>';
    if (query.get('action') === 'parse') return records > 0 ? json({ parse: CONTENT }) : missing();
    if (query.get('generator') === 'allpages') {
      const from = numberIn(url, 'gapcontinue', 0);
      const { items, next } = cut(
        many(records, (place) => listed(place, host)),
        from,
        numberIn(url, 'gaplimit', 10),
      );
      return list({ pages: items }, next === null ? null : { gapcontinue: String(next) });
    }
    if (query.get('list') === 'search') {
      // Without `srwhat=text`, the wiki software's own search looks only through titles, and no title matches this query.
      const found = query.get('srwhat') === 'text' ? records : 0;
      const from = numberIn(url, 'sroffset', 0);
      const { items, next } = cut(many(found, hit), from, numberIn(url, 'srlimit', 10));
      return list(
        { searchinfo: { totalhits: found }, search: items, ...SITE },
        next === null ? null : { sroffset: next },
      );
    }
    if (query.get('list') === 'categorymembers') {
      const from = Number((query.get('cmcontinue') ?? 'page|0').split('|')[1]);
      const { items, next } = cut(many(records, member), from, numberIn(url, 'cmlimit', 10));
      return list({ categorymembers: items, ...SITE }, next === null ? null : { cmcontinue: `page|${next}` });
    }
    const from = Number((query.get('rvcontinue') ?? '2024|0').split('|')[1]);
    const { items, next } = cut(many(records, revision), from, numberIn(url, 'rvlimit', 10));
    const page =
      records > 0
        ? { pageid: 312, ns: 0, title: 'Earl Grey', revisions: items }
        : { ns: 0, title: 'Earl Grey', missing: true };
    return list({ pages: [page] }, next === null ? null : { rvcontinue: `2024|${next}` });
  };
}

/** Returns the response of a wiki whose databases lag: status 200, an error, and the time to wait. */
export function lagging(seconds: number): FakeReply {
  const error = { code: 'maxlag', info: 'Waiting for a database server: 7 seconds lagged.', lag: 7 };
  return json({ error }, { 'retry-after': String(seconds), 'x-database-lag': '7' });
}

function missing(): FakeReply {
  return json({ error: { code: 'missingtitle', info: "The page you specified doesn't exist." } });
}

function list(query: JsonObject, next: JsonObject | null): FakeReply {
  return json({
    // `batchcomplete` is absent while further revisions of the page follow. Every page of a list has it.
    ...(next !== null && 'rvcontinue' in next ? {} : { batchcomplete: true }),
    ...(next === null ? {} : { continue: { ...next, continue: '-||' } }),
    query,
  });
}

function cut(all: readonly JsonObject[], from: number, size: number) {
  const end = from + Math.min(size, 500);
  return { items: all.slice(from, end), next: end < all.length ? end : null };
}

const SITE = {
  general: {
    sitename: 'Example',
    server: '//wiki.example.org',
    articlepath: '/wiki/$1',
    generator: 'MediaWiki 1.43.0',
  },
};

function hit(place: number): JsonObject {
  return {
    ns: 0,
    title: `Tea ${place}`,
    pageid: 500 + place,
    size: 6104,
    wordcount: 812,
    snippet: 'black <span class="searchmatch">tea</span> &amp; oil',
    timestamp: '2024-05-01T12:00:00Z',
  };
}

function member(place: number): JsonObject {
  return { pageid: 500 + place, ns: 0, title: `Tea ${place}`, type: 'page', timestamp: '2023-11-20T08:15:00Z' };
}

function listed(place: number, host: string): JsonObject {
  const fullurl = `https://${host}/wiki/Tea_${place}`;
  const page = { pageid: 500 + place, ns: 0, title: `Tea ${place}`, contentmodel: 'wikitext', pagelanguage: 'en' };
  return { ...page, touched: '2024-05-01T12:00:00Z', lastrevid: 9000, length: 6104, fullurl };
}

function revision(place: number): JsonObject {
  const user = place % 5 === 3 ? { userhidden: true } : { user: place % 5 === 4 ? 'imported>Lio' : 'Lio' };
  return {
    revid: 9000 - place,
    parentid: 8999 - place,
    minor: true,
    ...user,
    timestamp: '2024-05-01T12:00:00Z',
    size: 6104,
    comment: '',
    tags: [],
  };
}

const CONTENT = {
  title: 'Earl Grey',
  pageid: 312,
  revid: 9001,
  text: '<div class="mw-parser-output"><p><b>Earl Grey</b> is a tea.</p></div>',
  wikitext: "'''Earl Grey''' is a tea.",
  categories: [
    { sortkey: '', category: 'Black_tea' },
    { sortkey: '', category: 'Tracking', hidden: true },
  ],
  displaytitle: '<i>Earl Grey</i>',
  externallinks: ['//tea.example/'],
};

const COMMON = {
  connector: 'mediawiki',
  world: (records: number) => mediawikiWorld(records),
  paging: 'cursor',
  hostIn: 'site',
  largeCount: LARGE_PAGES,
} as const;

export const mediawikiCases: readonly SourceCase[] = [
  {
    ...COMMON,
    operation: 'search.pages',
    input: { site: 'https://wiki.example.org/wiki/Main_Page', query: 'tea' },
    sizeAsked: sizeIn('srlimit'),
    announcesTotal: true,
  },
  {
    ...COMMON,
    operation: 'page.content',
    input: { site: 'wiki.example.org', title: 'Earl Grey' },
    world: (records) => mediawikiWorld(Math.min(1, records), '/api.php'),
    paging: 'none',
    sizeAsked: null,
    announcesTotal: true,
    recordsMax: 1,
    emptyIsMissing: true,
  },
  {
    ...COMMON,
    operation: 'page.revisions',
    input: { site: 'https://wiki.example.org/w/api.php', title: 'Earl Grey' },
    sizeAsked: sizeIn('rvlimit'),
    emptyIsMissing: true,
    announcesTotal: false,
  },
  {
    ...COMMON,
    operation: 'category.pages',
    input: { site: 'wiki.example.org', category: 'Black tea' },
    sizeAsked: sizeIn('cmlimit'),
    announcesTotal: false,
  },
];
