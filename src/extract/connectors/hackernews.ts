import type { Connector, FoundRecord, JsonObject, Source } from '../base/connector.ts';
import { isoDate, isoFromSeconds } from '../read/dates.ts';
import { plainText, textOfHtml } from '../read/html.ts';
import { address } from './kit/api-address.ts';
import { chained, type ChainStart, type Cursor, type PageResult, type ChainTurn } from './kit/chain.ts';
import { at, givenText, idOf, integerOf, listIn, readEach, textMember, textsOf, urlOf } from './kit/json.ts';
import { recordOf } from './kit/record.ts';
import * as schema from './kit/schema.ts';

const BASE = 'https://hn.algolia.com/api/v1';
const ITEM = 'https://news.ycombinator.com/item';
const PAGE_SIZE_MAX = 1_000;
/** The index returns only the first 1,000 hits of a query, however they are paged. */
const HITS_MAX = 1_000;

interface Args extends JsonObject {
  readonly query: string | null;
  readonly tags: string;
  readonly order: 'relevance' | 'newest';
  /** Unix seconds. */
  readonly after: number | null;
  readonly before: number | null;
}

const POST = schema.recordSchema({
  id: schema.idField('Number of the post.'),
  url: schema.urlField('Its page on Hacker News.'),
  title: schema.textField('Without markup.'),
  link_url: schema.urlField('The page that it links to; null for a text post.'),
  text: schema.textField('Its own text, if it has one.'),
  html: schema.textField('Its own text as HTML.'),
  author: schema.authorField(),
  points: schema.countField('Number of votes.'),
  comments: schema.countField('Number of comments.'),
  published_at: schema.dateField('When it was posted.'),
  updated_at: schema.dateField('When the index last read it.'),
  tags: schema.textsField('Its tags in the index, such as `ask_hn`.'),
});
const COMMENT = schema.recordSchema({
  id: schema.idField('Number of the comment.'),
  url: schema.urlField('Its page on Hacker News.'),
  post_id: schema.textField('Number of the post.'),
  post_title: schema.textField('Title of the post.'),
  parent_id: schema.textField('Number of the post or the comment that it replies to.'),
  author: schema.authorField(),
  text: schema.textField('The comment as plain text.'),
  html: schema.textField('The comment as HTML.'),
  published_at: schema.dateField('When it was written.'),
});

/**
 * Reads one page. Pages by relevance have numbers, up to the index's limit. Pages by time have none: each requests hits as old as the last
 * one or older, so that hits of the same second are not lost. Hits that occur twice are dropped as duplicates.
 */
async function readPage(
  { args, at: cursor, size }: ChainTurn<Args>,
  source: Source,
  read: (hit: JsonObject) => FoundRecord | null,
): Promise<PageResult<Args>> {
  const isByTime = args.order === 'newest';
  const before = isByTime && cursor !== null ? Number(cursor) + 1 : args.before;
  const filters = [
    ...(args.after === null ? [] : [`created_at_i>${args.after}`]),
    ...(before === null ? [] : [`created_at_i<${before}`]),
  ];
  const url = address(source.base(BASE), [isByTime ? 'search_by_date' : 'search'], {
    query: args.query,
    tags: args.tags,
    numericFilters: filters.length === 0 ? null : filters.join(','),
    hitsPerPage: size,
    page: isByTime ? 0 : Number(cursor ?? 0),
  });
  const { body } = await source.json(url);
  const hits = listIn(at(body, 'hits'), 'hits');
  const hitCount = integerOf(at(body, 'nbHits'));
  return {
    kind: 'page',
    records: readEach(hits, read),
    next: isByTime ? nextByTime(hits, size) : nextByNumber(Number(cursor ?? 0), size, hits.length),
    // When paging by time, only the first page counts all hits.
    total: hitCount === null || cursor !== null ? null : isByTime ? hitCount : Math.min(hitCount, HITS_MAX),
  };
}

function nextByTime(hits: readonly JsonObject[string][], size: number): Cursor {
  const last = integerOf(at(hits.at(-1), 'created_at_i'));
  return hits.length < size ? null : last;
}

function nextByNumber(page: number, size: number, count: number): Cursor {
  return count < size || (page + 1) * size >= HITS_MAX ? null : page + 1;
}

function readPost(hit: JsonObject): FoundRecord | null {
  const id = idOf(hit['objectID']);
  if (id === null) return null;
  const url = `${ITEM}?id=${encodeURIComponent(id)}`;
  const html = textMember(hit['story_text']);
  return recordOf(id, url, {
    title: plainText(textMember(hit['title'])),
    link_url: urlOf(hit['url']),
    text: textOfHtml(html),
    html,
    author: writer(hit),
    points: integerOf(hit['points']),
    comments: integerOf(hit['num_comments']),
    published_at: timeOf(hit),
    updated_at: isoDate(hit['updated_at']),
    tags: textsOf(hit['_tags']),
  });
}

function readComment(hit: JsonObject): FoundRecord | null {
  const id = idOf(hit['objectID']);
  if (id === null) return null;
  const url = `${ITEM}?id=${encodeURIComponent(id)}`;
  const html = textMember(hit['comment_text']);
  return recordOf(id, url, {
    post_id: idOf(hit['story_id']),
    post_title: plainText(textMember(hit['story_title'])),
    parent_id: idOf(hit['parent_id']),
    author: writer(hit),
    text: textOfHtml(html),
    html,
    published_at: timeOf(hit),
  });
}

function writer(hit: JsonObject): JsonObject | null {
  const name = textMember(hit['author']);
  return name === null ? null : schema.author(name, address('https://news.ycombinator.com', ['user'], { id: name }));
}

function timeOf(hit: JsonObject): string | null {
  return isoFromSeconds(hit['created_at_i']) ?? isoDate(hit['created_at']);
}

function begin(input: JsonObject, tags: string): ChainStart<Args> {
  const seconds: Record<'after' | 'before', number | null> = { after: null, before: null };
  for (const end of ['after', 'before'] as const) {
    const given = input[`published_${end}`];
    if (given === undefined) continue;
    const iso = isoDate(given);
    if (iso === null) return { kind: 'fault', pointer: `/published_${end}`, message: 'This must be a date.' };
    seconds[end] = Math.floor(Date.parse(iso) / 1_000);
  }
  const query = textMember(input['query']);
  const order = query !== null && input['sort'] !== 'newest' ? 'relevance' : 'newest';
  return { kind: 'args', args: { query, tags, order, ...seconds } };
}

const KINDS = ['story', 'ask_hn', 'show_hn', 'poll', 'job'];
const EXAMPLE_POST = {
  id: '40000001',
  url: 'https://news.ycombinator.com/item?id=40000001',
  title: 'Show HN: A kettle that logs',
  link_url: 'https://kettle.example/',
  text: null,
  html: null,
  author: { name: 'mira', url: 'https://news.ycombinator.com/user?id=mira' },
  points: 120,
  comments: 45,
  published_at: '2024-05-02T08:00:00Z',
  updated_at: '2024-05-03T10:30:00Z',
  tags: ['story', 'author_mira', 'story_40000001', 'show_hn'],
};
const COMMON = { tier: 'basic', pageSizeMax: PAGE_SIZE_MAX } as const;
const SPAN = {
  published_after: schema.dateInput('Only posts made after this time.'),
  published_before: schema.dateInput('Only posts made before this time.'),
};

export const hackernews: Connector = {
  id: 'hackernews',
  title: 'Hacker News',
  description: "Posts and comments of Hacker News, from Algolia's public index.",
  docsUrl: 'https://hn.algolia.com/api',
  hosts: [new URL(BASE).hostname],
  terms: {
    termsUrl: 'https://www.algolia.com/policies/terms',
    attribution: 'Search by Algolia.',
    ratePolicy: '10,000 requests an hour from one address, without a key.',
  },
  operations: [
    chained<Args>({
      ...COMMON,
      sizing: 'fixed',
      name: 'search.posts',
      description: 'Posts that match the query.',
      paging:
        'By relevance: by page number, at most 1,000 in total. Newest first: by time, without a limit. The total is announced.',
      input: schema.inputSchema(
        {
          query: schema.queryInput('Words to look for.'),
          sort: schema.choiceInput('Order of the results.', ['relevance', 'newest'], 'relevance'),
          kind: schema.choiceInput('Kind of posts.', KINDS, 'story'),
          ...SPAN,
        },
        ['query'],
      ),
      record: POST,
      example: { input: { query: 'kettle', sort: 'newest' }, record: EXAMPLE_POST },
      begin: (input) => begin(input, textMember(input['kind']) ?? 'story'),
      read: (turn, source) => readPage(turn, source, readPost),
    }),
    chained<Args>({
      ...COMMON,
      sizing: 'free',
      name: 'post.comments',
      description: 'All comments on a post, newest first; `parent_id` names the post or comment that each replies to.',
      paging: 'By time, 1,000 a page; the total is announced.',
      input: schema.inputSchema({ post: schema.numberInput('Number of the post, as in its address.') }, ['post']),
      record: COMMENT,
      example: {
        input: { post: 40000001 },
        record: {
          id: '40000017',
          url: 'https://news.ycombinator.com/item?id=40000017',
          post_id: '40000001',
          post_title: 'Show HN: A kettle that logs',
          parent_id: '40000001',
          author: { name: 'noor', url: 'https://news.ycombinator.com/user?id=noor' },
          text: 'Does it rotate?',
          html: 'Does it <i>rotate</i>?',
          published_at: '2024-05-02T08:20:00Z',
        },
      },
      begin: (input) => begin({}, `comment,story_${givenText(input, 'post')}`),
      read: (turn, source) => readPage(turn, source, readComment),
    }),
    chained<Args>({
      ...COMMON,
      sizing: 'free',
      name: 'user.posts',
      description: 'All posts of a user, newest first, without comments.',
      paging: 'By time, 1,000 a page; the total is announced.',
      input: schema.inputSchema({ user: schema.nameInput('Name of the user.', '^[A-Za-z0-9_-]+$', 40), ...SPAN }, [
        'user',
      ]),
      record: POST,
      example: { input: { user: 'mira' }, record: EXAMPLE_POST },
      begin: (input) => begin(input, `(story,poll,job),author_${givenText(input, 'user')}`),
      read: (turn, source) => readPage(turn, source, readPost),
    }),
  ],
};
