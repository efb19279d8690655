import {
  SourceFailure,
  type Connector,
  type FoundRecord,
  type JsonAnswer,
  type JsonObject,
  type JsonValue,
  type Source,
} from '../base/connector.ts';
import { isoDate } from '../read/dates.ts';
import { address } from './kit/api-address.ts';
import { chained, type ChainStart, type ChainTurn, type PageResult } from './kit/chain.ts';
import { at, flagOf, idOf, integerOf, listIn, readEach, textMember, urlOf } from './kit/json.ts';
import { recordOf } from './kit/record.ts';
import * as schema from './kit/schema.ts';
import { beginAt } from './kit/sites.ts';

/** Source: the API, `limit`: servers refuse larger values. */
const PAGE_SIZE_MAX = 50;

interface Args extends JsonObject {
  readonly site: string;
  readonly community: string | null;
  readonly post: string | null;
  readonly sort: string;
}

const VOTES = {
  score: schema.countField('Votes for it, less those against it.'),
  upvotes: schema.countField('Votes for it.'),
  downvotes: schema.countField('Votes against it.'),
};
const POST = schema.recordSchema({
  id: schema.idField('Number of the post on the server in `site`.'),
  url: schema.urlField('Address of the post on the server where it was written.'),
  title: schema.textField('Without markup.'),
  link_url: schema.urlField('The page that it links to; null for a text post.'),
  text: schema.textField('Markdown.'),
  author: schema.authorField(),
  community: schema.textField('Name of its community.'),
  community_url: schema.urlField('Its community.'),
  published_at: schema.dateField('When it was written.'),
  updated_at: schema.dateField('When it was last changed; null if it never was.'),
  ...VOTES,
  comments: schema.countField('Number of comments.'),
  is_pinned: schema.flagField('Whether it is pinned to the top of its community.'),
  is_closed: schema.flagField('Whether it accepts no more comments.'),
  is_nsfw: schema.flagField('Whether it is marked as not safe for work.'),
  image_url: schema.urlField('Its preview.'),
});
const COMMENT = schema.recordSchema({
  id: schema.idField('Number of the comment on the server in `site`.'),
  url: schema.urlField('Address of the comment on the server where it was written.'),
  post_id: schema.textField('Number of the post.'),
  post_title: schema.textField('Title of the post.'),
  parent_id: schema.textField('Number of the comment that it replies to; null if it replies to the post.'),
  author: schema.authorField(),
  text: schema.textField('Markdown; null if it was deleted or removed.'),
  published_at: schema.dateField('When it was written.'),
  updated_at: schema.dateField('When it was last changed; null if it never was.'),
  ...VOTES,
  replies: schema.countField('Number of all comments below it.'),
  is_deleted: schema.flagField('Whether its author deleted it or a moderator removed it.'),
});

interface List {
  readonly path: string;
  readonly items: string;
  readonly read: (item: JsonObject) => FoundRecord | null;
}

const POSTS: List = { path: 'post', items: 'posts', read: readPost };
const COMMENTS: List = { path: 'comment', items: 'comments', read: readComment };

/** Reads a page. Servers from 0.19 on name the next page of posts; the other lists, and older servers, go by number. */
async function readList(list: List, turn: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const { args, at: cursor, size } = turn;
  const number = typeof cursor === 'string' ? null : (cursor ?? 1);
  const url = address(args.site, ['api', 'v3', list.path, 'list'], {
    type_: 'All',
    community_name: args.community,
    post_id: args.post,
    sort: args.sort,
    limit: size,
    page: cursor === null ? null : number,
    page_cursor: number === null ? cursor : null,
  });
  const answer = await source.json(url, { allowStatuses: [400] });
  if (answer.status === 400) return refusedPage(answer, turn);
  const items = listIn(at(answer.body, list.items), list.items);
  const named = textMember(at(answer.body, 'next_page'));
  const counted = number !== null && items.length >= size ? number + 1 : null;
  return {
    kind: 'page',
    records: readEach(items, list.read),
    next: items.length === 0 ? null : (named ?? counted),
    total: null,
  };
}

/** A server says with 400 that there is no such community or post, that only members may read it, or that pages of lists end here. */
function refusedPage({ body, url }: JsonAnswer, { at: cursor }: ChainTurn<Args>): PageResult<Args> {
  const word = textMember(at(body, 'error')) ?? '';
  if (/^(?:couldnt_find_|not_found)/.test(word))
    throw new SourceFailure('source_not_found', `${word} at ${url}`, false);
  if (word === 'instance_is_private') throw new SourceFailure('login_required', `${word} at ${url}`, false);
  if (cursor === null) throw new SourceFailure('parse_failed', `400 from ${url}`, false);
  return { kind: 'page', records: [], next: null, total: null, mayGoOn: `${url} was refused` };
}

function readPost(item: JsonObject): FoundRecord | null {
  const post = item['post'];
  const community = item['community'];
  return recordOf(idOf(at(post, 'id')), urlOf(at(post, 'ap_id')), {
    title: textMember(at(post, 'name')),
    link_url: urlOf(at(post, 'url')),
    text: textMember(at(post, 'body')),
    author: readPerson(item['creator']),
    community: textMember(at(community, 'title')) ?? textMember(at(community, 'name')),
    community_url: urlOf(at(community, 'actor_id')),
    published_at: isoDate(at(post, 'published')),
    updated_at: isoDate(at(post, 'updated')),
    ...readVotes(item['counts']),
    comments: integerOf(at(item, 'counts', 'comments')),
    is_pinned: flagOf(at(post, 'featured_community')),
    is_closed: flagOf(at(post, 'locked')),
    is_nsfw: flagOf(at(post, 'nsfw')),
    image_url: urlOf(at(post, 'thumbnail_url')),
  });
}

function readComment(item: JsonObject): FoundRecord | null {
  const comment = item['comment'];
  const deleted = flagOf(at(comment, 'deleted'));
  const removed = flagOf(at(comment, 'removed'));
  const isDeleted = deleted === null && removed === null ? null : deleted === true || removed === true;
  return recordOf(idOf(at(comment, 'id')), urlOf(at(comment, 'ap_id')), {
    post_id: idOf(at(comment, 'post_id')),
    post_title: textMember(at(item, 'post', 'name')),
    parent_id: parentOf(at(comment, 'path')),
    author: readPerson(item['creator']),
    text: isDeleted === true ? null : textMember(at(comment, 'content')),
    published_at: isoDate(at(comment, 'published')),
    updated_at: isoDate(at(comment, 'updated')),
    ...readVotes(item['counts']),
    replies: integerOf(at(item, 'counts', 'child_count')),
    is_deleted: isDeleted,
  });
}

/** `0.12.34` is the comment 34, which replies to 12; the post is 0. */
function parentOf(path: JsonValue | undefined): string | null {
  const parent = textMember(path)?.split('.').at(-2) ?? '';
  return /^[1-9]\d{0,15}$/.test(parent) ? parent : null;
}

function readVotes(counts: JsonValue | undefined): JsonObject {
  return {
    score: integerOf(at(counts, 'score')),
    upvotes: integerOf(at(counts, 'upvotes')),
    downvotes: integerOf(at(counts, 'downvotes')),
  };
}

function readPerson(person: JsonValue | undefined): JsonObject | null {
  const name = textMember(at(person, 'display_name')) ?? textMember(at(person, 'name'));
  return schema.author(name, urlOf(at(person, 'actor_id')));
}

/** Source: the API, `SortType` and `CommentSortType`. */
const SORTS = new Map<string, string>([
  ['newest', 'New'],
  ['oldest', 'Old'],
  ['hot', 'Hot'],
]);
const SORT = schema.choiceInput('Order of the records.', ['newest', 'oldest', 'hot', 'top'], 'newest');

function begin(input: JsonObject, top: string): ChainStart<Args> {
  const sort = SORTS.get(textMember(input['sort']) ?? 'newest') ?? top;
  const community = textMember(input['community'])?.replace(/^!/, '') ?? null;
  return beginAt(input, (site) => ({ site, community, post: idOf(input['post']), sort }));
}

const SERVER = schema.siteInput('Host name or URL of the server, for example `lemmy.world`.');
const COMMUNITY_INPUT = schema.inputSchema(
  {
    site: SERVER,
    community: schema.nameInput(
      '`name` on that server, or `name@host`, with or without a `!` before it.',
      '^!?[A-Za-z0-9_]+(?:@[A-Za-z0-9.-]+(?::[0-9]{1,5})?)?$',
    ),
    sort: SORT,
  },
  ['site', 'community'],
);
const EXAMPLE_AUTHOR = { name: 'Mira', url: 'https://lemmy.example/u/mira' };
const EXAMPLE_VOTES = { score: 8, upvotes: 9, downvotes: 1 };
const EXAMPLE_COMMENT = {
  id: '3401',
  url: 'https://lemmy.example/comment/3401',
  post_id: '57',
  post_title: 'Which kettle?',
  parent_id: '3400',
  author: { name: 'noor', url: 'https://other.example/u/noor' },
  text: 'The **blue** one.',
  published_at: '2024-05-02T08:20:00Z',
  updated_at: null,
  ...EXAMPLE_VOTES,
  replies: 2,
  is_deleted: false,
};
const COMMON = { tier: 'basic', pageSizeMax: PAGE_SIZE_MAX, sizing: 'fixed' } as const;
const COMMENT_LIST = {
  ...COMMON,
  paging: 'By page number, 50 a page; no total is announced.',
  record: COMMENT,
  // The best of all time has one name in lists of comments and another in those of posts.
  begin: (input: JsonObject) => begin(input, 'Top'),
  read: (turn: ChainTurn<Args>, source: Source) => readList(COMMENTS, turn, source),
} as const;

export const lemmy: Connector = {
  id: 'lemmy',
  title: 'Lemmy',
  description: 'Posts and comments of communities on any Lemmy server, as far as the server knows them.',
  docsUrl: 'https://join-lemmy.org/docs/contributors/04-api.html',
  terms: {
    termsUrl: null,
    attribution: null,
    ratePolicy:
      'Servers set their own limits, and respond with 429 above them. Some show their lists to members alone.',
  },
  operations: [
    chained<Args>({
      ...COMMON,
      name: 'community.posts',
      description: 'The posts of a community.',
      paging: 'By cursor, 50 a page, on older servers by page number; no total is announced.',
      input: COMMUNITY_INPUT,
      record: POST,
      example: {
        input: { site: 'lemmy.example', community: 'tea' },
        record: {
          id: '57',
          url: 'https://lemmy.example/post/57',
          title: 'Which kettle?',
          link_url: null,
          text: 'Mine broke.',
          author: EXAMPLE_AUTHOR,
          community: 'Tea',
          community_url: 'https://lemmy.example/c/tea',
          published_at: '2024-05-02T08:00:00Z',
          updated_at: null,
          ...EXAMPLE_VOTES,
          comments: 12,
          is_pinned: false,
          is_closed: false,
          is_nsfw: false,
          image_url: null,
        },
      },
      begin: (input) => begin(input, 'TopAll'),
      read: (turn, source) => readList(POSTS, turn, source),
    }),
    chained<Args>({
      ...COMMENT_LIST,
      name: 'community.comments',
      description: 'The comments on all posts of a community.',
      input: COMMUNITY_INPUT,
      example: { input: { site: 'lemmy.example', community: 'tea' }, record: EXAMPLE_COMMENT },
    }),
    chained<Args>({
      ...COMMENT_LIST,
      name: 'post.comments',
      description: 'All comments on a post; `parent_id` names the comment that each replies to.',
      input: schema.inputSchema(
        {
          site: SERVER,
          post: schema.numberInput('Number of the post on that server, as in its address there.'),
          sort: SORT,
        },
        ['site', 'post'],
      ),
      example: { input: { site: 'lemmy.example', post: 57 }, record: EXAMPLE_COMMENT },
    }),
  ],
};
