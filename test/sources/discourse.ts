import type { JsonObject } from '../../src/extract/base/connector.ts';
import { json, many, numberIn, type SourceCase, type World } from './source-case.ts';

/** A forum. Shapes: docs.discourse.org, "Get the latest topics", "Get a single topic", "Search for a term", "Get a specific tag". */
export function discourseWorld(records: number, folder = ''): World {
  return ({ url: text }) => {
    if (!new URL(text).pathname.startsWith(`${folder}/`)) return null;
    const url = new URL(text.replace(folder, ''));
    if (url.pathname === '/latest.json' || url.pathname === '/tag/tea.json') return topics(url, records);
    if (url.pathname === '/t/57.json') return posts(url, records);
    if (/^\/t\/\d+\.json$/.test(url.pathname)) return posts(url, 1);
    return url.pathname === '/search.json' ? hits(url, records) : null;
  };
}

function topics(url: URL, records: number) {
  const number = numberIn(url, 'page', 0);
  const end = (number + 1) * 30;
  const more = end < records ? { more_topics_url: `/latest?page=${number + 1}` } : {};
  return json({
    users: [{ id: 1, username: 'mira', name: 'Mira', avatar_template: '/a/{size}.png' }],
    primary_groups: [],
    topic_list: { can_create_topic: false, per_page: 30, ...more, topics: many(records, topic).slice(end - 30, end) },
  });
}

function posts(url: URL, records: number) {
  const number = numberIn(url, 'page', 1);
  const all = many(records, post);
  const shown = all.slice((number - 1) * 20, number * 20);
  if (number > 1 && shown.length === 0) return null;
  const stream = all.map(({ id }) => id ?? null);
  return json({
    id: 57,
    title: 'Which kettle?',
    slug: 'which-kettle',
    posts_count: records,
    chunk_size: 20,
    post_stream: { posts: shown, stream },
  });
}

function hits(url: URL, records: number) {
  const number = numberIn(url, 'page', 1);
  return json({
    posts: many(records, hit).slice((number - 1) * 50, number * 50),
    topics: [{ id: 57, title: 'Which kettle?', slug: 'which-kettle', tags: [{ id: 4, name: 'tea', slug: 'tea' }] }],
    users: [],
    categories: [],
    grouped_search_result: {
      term: 'kettle',
      more_full_page_results: number * 50 < records ? true : null,
      post_ids: [],
    },
  });
}

function topic(place: number): JsonObject {
  return {
    id: 100 + place,
    title: `Kettle & cup ${place}`,
    fancy_title: `Kettle &amp; cup ${place}`,
    slug: `kettle-${place}`,
    posts_count: 12,
    reply_count: 7,
    created_at: '2024-04-01T10:00:00.000Z',
    last_posted_at: '2024-04-03T18:20:00.000Z',
    bumped: true,
    archetype: 'regular',
    pinned: false,
    closed: false,
    archived: false,
    tags: ['kitchen'],
    views: 340,
    like_count: 15,
    category_id: 4,
    posters: [{ extras: 'latest', description: 'Original Poster', user_id: 1, primary_group_id: null }],
  };
}

function post(place: number): JsonObject {
  return {
    id: 900 + place,
    name: 'Mira',
    username: 'mira',
    created_at: '2024-04-01T10:05:00.000Z',
    cooked: '<p>The blue one.</p>',
    post_number: place + 1,
    post_type: 1,
    updated_at: '2024-04-01T10:06:00.000Z',
    reply_count: 0,
    reply_to_post_number: place === 0 ? null : 1,
    topic_id: 57,
    topic_slug: 'which-kettle',
    actions_summary: place % 2 === 0 ? [{ id: 2, count: 3 }] : [],
  };
}

function hit(place: number): JsonObject {
  return {
    id: 900 + place,
    name: 'Mira',
    username: 'mira',
    created_at: '2024-04-01T10:05:00.000Z',
    like_count: 3,
    blurb: 'The blue one…',
    post_number: place + 1,
    topic_id: 57,
  };
}

const COMMON = {
  connector: 'discourse',
  world: discourseWorld,
  paging: 'cursor',
  sizeAsked: null,
  hostIn: 'site',
} as const;

export const discourseCases: readonly SourceCase[] = [
  { ...COMMON, operation: 'site.topics', input: { site: 'forum.example.com', tag: 'tea' }, announcesTotal: false },
  {
    ...COMMON,
    operation: 'topic.posts',
    input: { site: 'https://forum.example.com', topic: 57 },
    announcesTotal: true,
  },
  {
    ...COMMON,
    operation: 'search.posts',
    input: { site: 'forum.example.com', query: 'kettle' },
    announcesTotal: false,
  },
];
