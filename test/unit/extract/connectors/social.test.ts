import { describe, expect, it } from 'vitest';
import { bluesky } from '../../../../src/extract/connectors/bluesky.ts';
import { lemmy } from '../../../../src/extract/connectors/lemmy.ts';
import { blueskyWorld, postView } from '../../../sources/bluesky.ts';
import { lemmyWorld } from '../../../sources/lemmy.ts';
import { json } from '../../../sources/source-case.ts';
import { fakeSource } from '../../../support/fake-source.ts';
import { operationNamed, ran } from './operation-runs.ts';

const MIRA = { account: 'mira.example.com' };
const TEA = { site: 'lemmy.example', community: 'tea@lemmy.example' };

describe('bluesky', () => {
  it('bluesky reads a complete post; a repost has an id that differs from that of the post', async () => {
    const { fields } = await ran(operationNamed(bluesky, 'account.posts'), MIRA, blueskyWorld(4));
    const post = {
      id: 'at://did:plc:mira234567/app.bsky.feed.post/3kteatime0',
      url: 'https://bsky.app/profile/mira.example.com/post/3kteatime0',
      author: { name: 'Mira', url: 'https://bsky.app/profile/mira.example.com' },
      account: 'mira.example.com',
      text: 'Tea time. #tea',
      languages: ['en'],
      published_at: '2024-05-02T08:00:00Z',
      indexed_at: '2024-05-02T08:00:01Z',
      tags: ['tea'],
      reply_to_id: null,
      thread_id: null,
      quoted_id: null,
      reposted_by: null,
      reposted_at: null,
      replies: 2,
      reposts: 1,
      quotes: 0,
      likes: 9,
      media_urls: [],
      link_url: null,
    };
    expect(fields[0]).toEqual(post);
    expect(fields[3]).toEqual({
      ...post,
      id: `${post.id} did:plc:noor3`,
      reposted_by: { name: 'Noor', url: 'https://bsky.app/profile/noor.example.com' },
      reposted_at: '2024-05-03T08:00:00Z',
    });
    expect(fields[1]).toMatchObject({ author: { name: 'mira.example.com' } });
  });

  it('bluesky reads images, videos, links and quotations, also together', async () => {
    const quoted = { uri: 'at://did:plc:noor/app.bsky.feed.post/1' };
    const images = [{ thumb: 'https://cdn.bsky.app/t.jpg', fullsize: 'https://cdn.bsky.app/f.jpg', alt: '' }];
    const embeds = [
      { images },
      { playlist: 'https://video.bsky.app/playlist.m3u8', cid: 'bafy' },
      { external: { uri: 'https://kettle.example/', title: 'Kettle', description: '' } },
      { record: quoted },
      { record: { record: quoted }, media: { images } },
    ];
    const feed = embeds.map((embed, place) => ({ post: postView(place, {}, embed) }));
    const { fields } = await ran(operationNamed(bluesky, 'account.posts'), MIRA, () => json({ feed }));
    expect(fields.map(({ media_urls, link_url, quoted_id }) => [media_urls, link_url, quoted_id])).toEqual([
      [['https://cdn.bsky.app/f.jpg'], null, null],
      [['https://video.bsky.app/playlist.m3u8'], null, null],
      [[], 'https://kettle.example/', null],
      [[], null, quoted.uri],
      [['https://cdn.bsky.app/f.jpg'], null, quoted.uri],
    ]);
  });

  it('bluesky gives a thread from its first post on, without those that were deleted', async () => {
    const reply = {
      reply: { root: { uri: 'at://a/app.bsky.feed.post/1' }, parent: { uri: 'at://a/app.bsky.feed.post/2' } },
    };
    const deep = { post: postView(3, reply), replies: [{ post: postView(4) }] };
    const thread = {
      post: postView(2),
      parent: { post: postView(1), parent: { post: postView(0) } },
      replies: [deep, { uri: 'at://x', notFound: true }, { post: postView(5) }],
    };
    const input = { post: 'at://did:plc:mira234567/app.bsky.feed.post/3kteatime2' };
    const { fields, records, source } = await ran(operationNamed(bluesky, 'post.thread'), input, () =>
      json({ thread }),
    );
    expect(records.map(({ id }) => id.at(-1))).toEqual(['0', '1', '2', '3', '4', '5']);
    expect(fields[3]).toMatchObject({
      reply_to_id: 'at://a/app.bsky.feed.post/2',
      thread_id: 'at://a/app.bsky.feed.post/1',
    });
    expect(new URL(source.urls[0] ?? '').searchParams.get('uri')).toBe(input.post);
  });

  const THREAD = { post: 'https://bsky.app/profile/mira.example.com/post/3kteatime22a2' };

  it('bluesky reads the replies below the levels of one response, each once', async () => {
    const { records, source } = await ran(operationNamed(bluesky, 'post.thread'), THREAD, blueskyWorld(62));
    expect(records).toHaveLength(62);
    expect(source.urls.map((url) => new URL(url).searchParams.get('parentHeight'))).toEqual(['40', '0', '0']);
  });

  it('bluesky reads a thread of which a part was deleted while it was read', async () => {
    const world = blueskyWorld(62);
    const { records } = await ran(operationNamed(bluesky, 'post.thread'), THREAD, (request) =>
      request.url.includes('22a2') ? world(request) : json({ error: 'NotFound', message: 'Post not found' }, {}, 400),
    );
    expect(records).toHaveLength(42);
  });

  it('bluesky reads a thread as wide as a response may be', async () => {
    const wide = `{"thread":{"post":${JSON.stringify(postView(0))},"replies":[${'0,'.repeat(400_000)}0]}}`;
    const reply = { body: wide, headers: { 'content-type': 'application/json' } };
    const { records } = await ran(operationNamed(bluesky, 'post.thread'), THREAD, () => reply);
    expect(records).toHaveLength(1);
  });

  it.each([
    [{ error: 'InvalidRequest', message: 'Profile not found' }, 'source_not_found'],
    [{ error: 'NotFound', message: 'Post not found' }, 'source_not_found'],
    [{ error: 'AccountDeactivated', message: 'Account is deactivated' }, 'access_denied'],
    [{ error: 'AccountTakedown', message: 'Account has been suspended' }, 'access_denied'],
    [{ error: 'InvalidRequest', message: 'Error: Params must have the property "actor"' }, 'parse_failed'],
  ])('bluesky reads the refusal %j as %s', async (body, reason) => {
    const run = ran(operationNamed(bluesky, 'account.posts'), MIRA, () => json(body, {}, 400));
    await expect(run).rejects.toMatchObject({ reason });
  });

  it.each([
    ['notFound', 'source_not_found'],
    ['blocked', 'access_denied'],
  ])('bluesky reads a thread whose post is %s as %s', async (name, reason) => {
    const thread = { uri: 'at://x', [name]: true };
    const run = ran(operationNamed(bluesky, 'post.thread'), THREAD, () => json({ thread }));
    await expect(run).rejects.toMatchObject({ reason });
  });

  it('bluesky names an account by its DID if its handle is invalid', async () => {
    const { fields } = await ran(operationNamed(bluesky, 'search.accounts'), { query: 'tea' }, blueskyWorld(2));
    expect(fields.map(({ id, url }) => [id, url])).toEqual([
      ['did:plc:tea0', 'https://bsky.app/profile/tea0.example.com'],
      ['did:plc:tea1', 'https://bsky.app/profile/did:plc:tea1'],
    ]);
  });

  it('bluesky gives no record whose account is no part of an address', async () => {
    const actors = ['..', '../../x', 'a/b', 'x?y.z', 'tea.example.com'].map((handle, place) => ({
      did: `did:plc:${place}`,
      handle,
    }));
    const { fields } = await ran(operationNamed(bluesky, 'search.accounts'), { query: 'x' }, () => json({ actors }));
    expect(fields.map(({ account }) => account)).toEqual(['tea.example.com']);
  });
});

describe('lemmy', () => {
  it('lemmy reads a complete post', async () => {
    const { fields } = await ran(operationNamed(lemmy, 'community.posts'), TEA, lemmyWorld(2));
    expect(fields[0]).toEqual({
      id: '5000',
      url: 'https://lemmy.example/post/5000',
      title: 'Which kettle?',
      link_url: null,
      text: 'Mine broke.',
      author: { name: 'Mira', url: 'https://lemmy.example/u/mira' },
      community: 'Tea',
      community_url: 'https://lemmy.example/c/tea',
      published_at: '2024-05-02T08:00:00.123Z',
      updated_at: null,
      score: 8,
      upvotes: 9,
      downvotes: 1,
      comments: 12,
      is_pinned: true,
      is_closed: false,
      is_nsfw: false,
      image_url: null,
    });
    expect(fields[1]).toMatchObject({ text: null, link_url: 'https://kettle.example/', is_pinned: false });
  });

  it('lemmy reads comments: the one that each replies to, and no text of those that were removed', async () => {
    const { fields } = await ran(operationNamed(lemmy, 'post.comments'), { site: TEA.site, post: 57 }, lemmyWorld(3));
    expect(fields.map(({ parent_id, text, is_deleted }) => [parent_id, text, is_deleted])).toEqual([
      [null, 'The **blue** one.', false],
      ['12', 'The **blue** one.', false],
      [null, null, true],
    ]);
    expect(fields[0]).toMatchObject({
      url: 'https://other.example/comment/9000',
      author: { name: 'noor' },
      replies: 2,
    });
  });

  it('lemmy goes by cursor, and by page number on an older server', async () => {
    const does = operationNamed(lemmy, 'community.posts');
    const [now, old] = [await ran(does, TEA, lemmyWorld(120)), await ran(does, TEA, lemmyWorld(120, { isOld: true }))];
    expect([now.records.length, old.records.length]).toEqual([120, 120]);
    const cursors = (urls: readonly string[]) =>
      urls.map((url) => new URL(url).searchParams).map((asked) => [asked.get('page_cursor'), asked.get('page')]);
    expect(cursors(now.source.urls).slice(1)).toEqual([
      ['P32', null],
      ['P64', null],
      ['P78', null],
    ]);
    expect(cursors(old.source.urls).slice(1)).toEqual([
      [null, '2'],
      [null, '3'],
    ]);
    expect(old.fields[0]).toMatchObject({ published_at: '2024-05-02T08:00:00.123Z' });
  });

  it('lemmy asks for the best by the name that each list has for it', async () => {
    const posts = await ran(operationNamed(lemmy, 'community.posts'), { ...TEA, sort: 'top' }, lemmyWorld(1));
    const comments = await ran(operationNamed(lemmy, 'community.comments'), { ...TEA, sort: 'top' }, lemmyWorld(1));
    const sorts = [posts, comments].map(({ source }) => new URL(source.urls[0] ?? '').searchParams.get('sort'));
    expect(sorts).toEqual(['TopAll', 'Top']);
  });

  it('lemmy keeps what it read if a server refuses later pages, and reports the rest', async () => {
    const does = operationNamed(lemmy, 'community.comments');
    const world = lemmyWorld(120, { pagesMax: 1 });
    const { records } = await ran(does, TEA, world);
    expect(records).toHaveLength(50);
    const begun = does.start(TEA);
    const [step] = begun.kind === 'steps' ? begun.steps : [];
    const { next } = await does.run(step?.state ?? {}, fakeSource(world), { recordsLeft: Infinity });
    const found = await does.run(next[0]?.state ?? {}, fakeSource(world), { recordsLeft: Infinity });
    expect(found).toMatchObject({ next: [], unreadable: [{ reason: 'parse_failed' }] });
  });

  it.each([
    ['couldnt_find_community', 'source_not_found'],
    ['couldnt_find_post', 'source_not_found'],
    ['not_found', 'source_not_found'],
    ['instance_is_private', 'login_required'],
    ['query_too_long', 'parse_failed'],
  ])('lemmy reads the refusal %s as %s', async (error, reason) => {
    const run = ran(operationNamed(lemmy, 'community.posts'), TEA, () => json({ error }, {}, 400));
    await expect(run).rejects.toMatchObject({ reason });
  });
});
