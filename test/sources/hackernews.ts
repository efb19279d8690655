import type { JsonObject } from '../../src/extract/base/connector.ts';
import { LARGE_PAGES, json, many, numberIn, sizeIn, type SourceCase, type World } from './source-case.ts';

const NEWEST_SECONDS = 1_714_636_800;
/** Maximum number of hits that the index returns for one query, over all pages. */
const SHOWN_MAX = 1_000;

/** Algolia's index of Hacker News. Shapes and paging: hn.algolia.com/api, "Search", and the search parameters of Algolia. */
export function hackernewsWorld(records: number): World {
  return ({ url: text }) => {
    const url = new URL(text);
    if (!/^\/api\/v1\/search(?:_by_date)?$/.test(url.pathname)) return null;
    const isComment = (url.searchParams.get('tags') ?? '').startsWith('comment');
    const before = Number(/created_at_i<(\d+)/.exec(url.searchParams.get('numericFilters') ?? '')?.[1] ?? Infinity);
    const after = Number(/created_at_i>(\d+)/.exec(url.searchParams.get('numericFilters') ?? '')?.[1] ?? 0);
    const hits = many(records, isComment ? comment : story).filter(
      ({ created_at_i: at }) => Number(at) < before && Number(at) > after,
    );
    const size = Math.min(1_000, numberIn(url, 'hitsPerPage', 20));
    const page = numberIn(url, 'page', 0);
    const shown = hits.slice(0, SHOWN_MAX).slice(page * size, (page + 1) * size);
    return json({
      hits: shown,
      nbHits: hits.length,
      page,
      nbPages: Math.ceil(Math.min(hits.length, SHOWN_MAX) / size),
      hitsPerPage: size,
    });
  };
}

/** Returns the time of a hit. Three hits share a second, so that paging by time must handle hits of the same second. */
function timeOf(place: number) {
  const seconds = NEWEST_SECONDS - Math.floor(place / 3);
  return { created_at: new Date(seconds * 1_000).toISOString().replace('.000', ''), created_at_i: seconds };
}

function story(place: number): JsonObject {
  return {
    objectID: String(40_000_000 + place),
    title: `Show HN: Kettle &amp; cup ${place}`,
    url: 'https://kettle.example/',
    author: 'mira',
    points: 120,
    story_text: null,
    num_comments: 45,
    story_id: 40_000_000 + place,
    ...timeOf(place),
    updated_at: '2024-05-03T10:30:00Z',
    _tags: ['story', 'author_mira'],
    _highlightResult: { title: { value: 'x', matchLevel: 'none', matchedWords: [] } },
  };
}

function comment(place: number): JsonObject {
  return {
    objectID: String(50_000_000 + place),
    author: 'noor',
    comment_text: 'Does it <i>rotate</i>?<p>Or not?',
    story_id: 40_000_000,
    story_title: 'Show HN: Kettle',
    story_url: 'https://kettle.example/',
    parent_id: 40_000_000,
    ...timeOf(place),
    _tags: ['comment', 'author_noor', 'story_40000000'],
  };
}

const COMMON = {
  connector: 'hackernews',
  world: hackernewsWorld,
  paging: 'cursor',
  sizeAsked: sizeIn('hitsPerPage'),
  hostIn: null,
  announcesTotal: true,
  largeCount: LARGE_PAGES,
} as const;

export const hackernewsCases: readonly SourceCase[] = [
  { ...COMMON, operation: 'search.posts', input: { query: 'kettle' }, recordsMax: SHOWN_MAX },
  { ...COMMON, operation: 'search.posts', input: { query: 'kettle', sort: 'newest', published_after: '2023-05-02' } },
  { ...COMMON, operation: 'post.comments', input: { post: 40_000_000 } },
  { ...COMMON, operation: 'user.posts', input: { user: 'mira' } },
];
