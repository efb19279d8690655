import type { JsonObject } from '../../src/extract/base/connector.ts';
import { json, many, numberIn, sizeIn, type SourceCase, type World } from './source-case.ts';

const SITE = 'https://lemmy.example';

/**
 * A Lemmy server. Shapes: lemmy-js-client, `GetPosts`, `GetPostsResponse`, `PostView`, `GetComments`, `CommentView`. `isOld`: a server
 * before 0.19, whose posts go by page number and whose times have no zone. `pagesMax`: the server refuses later pages by number.
 */
export function lemmyWorld(records: number, { isOld = false, pagesMax = Infinity } = {}): World {
  return ({ url: text }) => {
    const url = new URL(text);
    const asked = url.searchParams;
    const isKnown = asked.get('community_name') === 'tea@lemmy.example' || asked.get('post_id') === '57';
    if (!isKnown) return json({ error: 'couldnt_find_community' }, {}, 400);
    if (numberIn(url, 'page', 1) > pagesMax) return json({ error: 'too_many_items' }, {}, 400);
    if (numberIn(url, 'limit', 10) > 50) return json({ error: 'invalid_fetch_limit' }, {}, 400);
    if (url.pathname === '/api/v3/comment/list') return json({ comments: byNumber(url, many(records, comment)) });
    if (url.pathname !== '/api/v3/post/list') return null;
    const all = many(records, isOld ? oldPost : post);
    if (isOld) return json({ posts: byNumber(url, all) });
    const from = Number.parseInt(asked.get('page_cursor')?.slice(1) ?? '0', 16);
    const posts = all.slice(from, from + numberIn(url, 'limit', 10));
    // The cursor is that of the last post shown, so that a last page has one too.
    return json(posts.length === 0 ? { posts } : { posts, next_page: `P${(from + posts.length).toString(16)}` });
  };
}

function byNumber(url: URL, all: readonly JsonObject[]): readonly JsonObject[] {
  const size = numberIn(url, 'limit', 10);
  const page = numberIn(url, 'page', 1);
  return all.slice((page - 1) * size, page * size);
}

const MIRA = { id: 4, name: 'mira', display_name: 'Mira', actor_id: `${SITE}/u/mira`, local: true };
const NOOR = { id: 5, name: 'noor', actor_id: 'https://other.example/u/noor', local: false };
const TEA = { id: 3, name: 'tea', title: 'Tea', actor_id: `${SITE}/c/tea`, removed: false, nsfw: false };

function post(place: number): JsonObject {
  return {
    post: {
      id: 5_000 + place,
      name: 'Which kettle?',
      ...(place % 2 === 0 ? { body: 'Mine broke.' } : { url: 'https://kettle.example/' }),
      creator_id: 4,
      community_id: 3,
      removed: false,
      locked: false,
      published: '2024-05-02T08:00:00.123456Z',
      deleted: false,
      nsfw: false,
      ap_id: `${SITE}/post/${5_000 + place}`,
      local: true,
      language_id: 37,
      featured_community: place === 0,
      featured_local: false,
    },
    creator: MIRA,
    community: TEA,
    creator_banned_from_community: false,
    counts: {
      post_id: 5_000 + place,
      comments: 12,
      score: 8,
      upvotes: 9,
      downvotes: 1,
      published: '2024-05-02T08:00:00Z',
    },
    subscribed: 'NotSubscribed',
    saved: false,
    read: false,
  };
}

function oldPost(place: number): JsonObject {
  const one = post(place);
  return { ...one, post: { ...(one['post'] as JsonObject), published: '2024-05-02T08:00:00.123456' } };
}

function comment(place: number): JsonObject {
  const id = 9_000 + place;
  const isRemoved = place % 3 === 2;
  return {
    comment: {
      id,
      creator_id: 5,
      post_id: 57,
      content: isRemoved ? '*removed by mod*' : 'The **blue** one.',
      removed: isRemoved,
      published: '2024-05-02T08:20:00Z',
      deleted: false,
      ap_id: `https://other.example/comment/${id}`,
      local: false,
      path: place % 2 === 0 ? `0.${id}` : `0.12.${id}`,
      distinguished: false,
      language_id: 37,
    },
    creator: NOOR,
    post: { id: 57, name: 'Which kettle?', ap_id: `${SITE}/post/57` },
    community: TEA,
    counts: { comment_id: id, score: 8, upvotes: 9, downvotes: 1, published: '2024-05-02T08:20:00Z', child_count: 2 },
    creator_banned_from_community: false,
    subscribed: 'NotSubscribed',
    saved: false,
    creator_blocked: false,
  };
}

const COMMON = {
  connector: 'lemmy',
  world: (records: number) => lemmyWorld(records),
  paging: 'cursor',
  sizeAsked: sizeIn('limit'),
  hostIn: 'site',
  announcesTotal: false,
} as const;
const COMMUNITY = { site: 'lemmy.example', community: '!tea@lemmy.example' };

export const lemmyCases: readonly SourceCase[] = [
  { ...COMMON, operation: 'community.posts', input: { ...COMMUNITY, sort: 'top' } },
  { ...COMMON, operation: 'community.comments', input: COMMUNITY },
  { ...COMMON, operation: 'post.comments', input: { site: SITE, post: 57 } },
];
