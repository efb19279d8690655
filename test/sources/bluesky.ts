import type { JsonObject } from '../../src/extract/base/connector.ts';
import { json, many, numberIn, sizeIn, type SourceCase, type World } from './source-case.ts';

const MIRA = 'did:plc:mira234567';

/**
 * The public AppView of Bluesky. Shapes: the lexicons `app.bsky.feed.getAuthorFeed`, `app.bsky.feed.getPostThread`,
 * `app.bsky.actor.searchActors`, `app.bsky.feed.defs`, `app.bsky.actor.defs` and `app.bsky.embed.*`; errors: "HTTP API (XRPC)".
 */
export function blueskyWorld(records: number): World {
  return ({ url: text }) => {
    const url = new URL(text);
    const asked = url.searchParams;
    switch (url.pathname) {
      case '/xrpc/app.bsky.feed.getAuthorFeed':
        return asked.get('actor') === 'mira.example.com' ? paged(url, 'feed', many(records, feedItem)) : NO_PROFILE;
      case '/xrpc/app.bsky.actor.searchActors':
        return paged(url, 'actors', many(records, actor));
      case '/xrpc/app.bsky.feed.getPostThread':
        return threadOf(asked.get('uri') ?? '', records, numberIn(url, 'depth', 6));
      default:
        return json({ error: 'XRPCNotSupported', message: 'XRPCNotSupported' }, {}, 404);
    }
  };
}

function threadOf(uri: string, records: number, levels: number) {
  if (records > 0 && uri === 'at://mira.example.com/app.bsky.feed.post/3kteatime22a2')
    return json({ thread: thread(records, levels) });
  const place = Number(/3kteatime(\d+)$/.exec(uri)?.[1] ?? records);
  return place < records
    ? json({ thread: chainFrom(place, records, levels) })
    : json({ error: 'NotFound', message: `Post not found: ${uri}` }, {}, 400);
}

const NO_PROFILE = json({ error: 'InvalidRequest', message: 'Profile not found' }, {}, 400);

/** The last page has no cursor. */
function paged(url: URL, name: string, all: readonly JsonObject[]) {
  const from = numberIn(url, 'cursor', 0);
  const end = from + Math.min(100, numberIn(url, 'limit', 50));
  const cursor = end < all.length ? { cursor: String(end) } : {};
  return json(
    { [name]: all.slice(from, end), ...cursor },
    { 'ratelimit-limit': '3000', 'ratelimit-remaining': '2999' },
  );
}

export function postView(place: number, record: JsonObject = {}, embed: JsonObject = {}): JsonObject {
  return {
    uri: `at://${MIRA}/app.bsky.feed.post/3kteatime${place}`,
    cid: 'bafyreitea',
    author: { did: MIRA, handle: 'mira.example.com', displayName: place % 2 === 0 ? 'Mira' : '', labels: [] },
    record: {
      $type: 'app.bsky.feed.post',
      text: 'Tea time. #tea',
      langs: ['en'],
      createdAt: '2024-05-02T08:00:00.000Z',
      facets: [
        {
          index: { byteStart: 10, byteEnd: 14 },
          features: [{ $type: 'app.bsky.richtext.facet#tag', tag: 'tea' }],
        },
      ],
      ...record,
    },
    ...(Object.keys(embed).length > 0 && { embed }),
    replyCount: 2,
    repostCount: 1,
    quoteCount: 0,
    likeCount: 9,
    indexedAt: '2024-05-02T08:00:01.000Z',
    labels: [],
  };
}

/** Each fourth item is a repost, of the first post. */
function feedItem(place: number): JsonObject {
  if (place % 4 !== 3) return { post: postView(place) };
  return {
    post: postView(0),
    reason: {
      $type: 'app.bsky.feed.defs#reasonRepost',
      by: { did: `did:plc:noor${place}`, handle: 'noor.example.com', displayName: 'Noor' },
      indexedAt: '2024-05-03T08:00:00.000Z',
    },
  };
}

/** Levels of a chain of replies: more than one response shows. */
const CHAIN = 30;
const NODE = 'app.bsky.feed.defs#threadViewPost';

/** The post, one post before it if there are several, and chains of replies. */
function thread(records: number, levels: number): JsonObject {
  const gone = {
    $type: 'app.bsky.feed.defs#notFoundPost',
    uri: 'at://did:plc:gone/app.bsky.feed.post/1',
    notFound: true,
  };
  const heads = [...Array.from({ length: Math.ceil(Math.max(0, records - 2) / CHAIN) }).keys()];
  return {
    $type: NODE,
    post: postView(0),
    ...(records > 1 && { parent: { $type: NODE, post: postView(1), parent: gone } }),
    replies: [...heads.map((chain) => chainFrom(2 + chain * CHAIN, records, levels - 1)), gone],
  };
}

/** A reply and those below it. At the last level, nothing says whether there are any. */
function chainFrom(place: number, records: number, levels: number): JsonObject {
  const isLast = place + 1 >= records || (place - 1) % CHAIN === 0;
  if (levels === 0) return { $type: NODE, post: postView(place) };
  return { $type: NODE, post: postView(place), replies: isLast ? [] : [chainFrom(place + 1, records, levels - 1)] };
}

function actor(place: number): JsonObject {
  return {
    did: `did:plc:tea${place}`,
    handle: place % 2 === 0 ? `tea${place}.example.com` : 'handle.invalid',
    displayName: 'Tea',
    description: 'Tea and kettles.',
    avatar: 'https://cdn.bsky.app/img/avatar/plain/did:plc:tea/bafkreiface',
    createdAt: '2023-05-02T08:00:00.000Z',
    indexedAt: '2024-05-02T08:00:00.000Z',
    labels: [],
  };
}

const COMMON = {
  connector: 'bluesky',
  world: blueskyWorld,
  paging: 'cursor',
  sizeAsked: sizeIn('limit'),
  hostIn: null,
  announcesTotal: false,
} as const;

export const blueskyCases: readonly SourceCase[] = [
  { ...COMMON, operation: 'account.posts', input: { account: '@mira.example.com', posts: 'without_replies' } },
  {
    ...COMMON,
    operation: 'post.thread',
    input: { post: 'https://bsky.app/profile/mira.example.com/post/3kteatime22a2' },
    paging: 'walk',
    sizeAsked: null,
    emptyIsMissing: true,
  },
  { ...COMMON, operation: 'search.accounts', input: { query: 'tea' } },
];
