import type { JsonObject } from '../../src/extract/base/connector.ts';
import { json, many, numberIn, sizeIn, type SourceCase, type World } from './source-case.ts';

const NEWEST = 112_400_000_000;

/**
 * A Mastodon server. Shapes: docs.joinmastodon.org, methods "accounts" (lookup, statuses) and "timelines" (hashtag), entity "Status";
 * paging: "Guidelines and best practices", the `Link` header with `max_id`.
 */
export function mastodonWorld(records: number): World {
  return ({ url: text }) => {
    const url = new URL(text);
    if (url.pathname === '/api/v1/accounts/lookup')
      return url.searchParams.get('acct') === 'mira' ? json({ id: '14', username: 'mira', acct: 'mira' }) : null;
    if (!['/api/v1/accounts/14/statuses', '/api/v1/timelines/tag/tea'].includes(url.pathname)) return null;
    const size = Math.min(40, numberIn(url, 'limit', 20));
    const before = numberIn(url, 'max_id', Infinity);
    const older = many(records, status).filter(({ id }) => Number(id) < before);
    const shown = older.slice(0, size);
    const [first = '', last = ''] = [shown.at(0), shown.at(-1)].map((one) => String(one?.id));
    const prev = `<${url.origin}${url.pathname}?limit=${size}&min_id=${first}>; rel="prev"`;
    const next = `<${url.origin}${url.pathname}?limit=${size}&max_id=${last}>; rel="next"`;
    return json(shown, shown.length === 0 ? {} : { link: shown.length < size ? prev : `${next}, ${prev}` });
  };
}

function status(place: number): JsonObject & { readonly id: string } {
  const isRepost = place % 4 === 3;
  return {
    id: String(NEWEST - place),
    created_at: '2024-05-02T08:00:00.000Z',
    edited_at: null,
    in_reply_to_id: null,
    sensitive: false,
    spoiler_text: '',
    visibility: 'public',
    language: 'en',
    uri: `https://social.example/users/mira/statuses/${NEWEST - place}`,
    url: isRepost ? null : `https://social.example/@mira/${NEWEST - place}`,
    replies_count: 2,
    reblogs_count: 1,
    favourites_count: 9,
    content: isRepost ? '' : '<p>Tea time.</p>',
    reblog: isRepost ? { ...status(0), url: 'https://other.example/@noor/1' } : null,
    account: { id: '14', username: 'mira', acct: 'mira', display_name: '', url: 'https://social.example/@mira' },
    media_attachments: [{ id: '1', type: 'image', url: 'https://files.social.example/1.png' }],
    tags: [{ name: 'tea', url: 'https://social.example/tags/tea' }],
    card: null,
  };
}

const COMMON = {
  connector: 'mastodon',
  world: mastodonWorld,
  paging: 'cursor',
  sizeAsked: sizeIn('limit'),
  hostIn: 'site',
  announcesTotal: false,
} as const;

export const mastodonCases: readonly SourceCase[] = [
  { ...COMMON, operation: 'account.posts', input: { site: 'social.example', account: '@mira', without_replies: true } },
  { ...COMMON, operation: 'tag.posts', input: { site: 'https://social.example', tag: '#tea' } },
];
