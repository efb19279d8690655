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
import { plainText, textOfHtml } from '../read/html.ts';
import { address } from './kit/api-address.ts';
import { chained, type PageResult, type ChainTurn } from './kit/chain.ts';
import { at, flagOf, givenText, idOf, integerOf, itemsOf, listIn, readEach, textMember, textsOf } from './kit/json.ts';
import { recordOf } from './kit/record.ts';
import * as schema from './kit/schema.ts';
import { beginAt } from './kit/sites.ts';

/** The forum defines the page size: 30 topics, 20 posts and 50 hits by default. */
const PAGE_SIZE_MAX = 50;
const POSTS_A_PAGE = 20;
/** Id of the action type "like". */
const LIKE = 2;

interface Args extends JsonObject {
  readonly site: string;
  /** The tag, the topic's number or the query; null for the whole forum. */
  readonly what: string | null;
}

const TOPIC = schema.recordSchema({
  id: schema.idField('Number of the topic in its forum.'),
  url: schema.urlField('The topic.'),
  title: schema.textField('Without markup.'),
  excerpt: schema.textField('The beginning of its first post, if the forum shows it.'),
  author: schema.authorField('Who started it.'),
  published_at: schema.dateField('When it was started.'),
  updated_at: schema.dateField('Time of its last post.'),
  category_id: schema.textField('Number of its category.'),
  tags: schema.textsField('Names.'),
  posts: schema.countField('Number of posts, including the first one.'),
  replies: schema.countField('Number of posts that reply to others.'),
  views: schema.countField('How often it was viewed.'),
  likes: schema.countField('Likes of all its posts together.'),
  is_pinned: schema.flagField('Whether it is pinned to the top.'),
  is_closed: schema.flagField('Whether it accepts no more replies.'),
});

const POST_FIELDS = {
  id: schema.idField('Number of the post in its forum.'),
  url: schema.urlField('The post.'),
  topic_id: schema.textField('Number of its topic.'),
  topic_title: schema.textField('Without markup.'),
  number: schema.countField('Its position in the topic, from 1.'),
  author: schema.authorField(),
};
const POST = schema.recordSchema({
  ...POST_FIELDS,
  text: schema.textField('The post as plain text.'),
  html: schema.textField('The post as the forum renders it.'),
  published_at: schema.dateField('When it was written.'),
  updated_at: schema.dateField('When it was last changed.'),
  reply_to_number: schema.countField('Position of the post that it replies to.'),
  likes: schema.countField('Number of likes.'),
});
const HIT = schema.recordSchema({
  ...POST_FIELDS,
  text: schema.textField('The matching part of the post, as plain text.'),
  published_at: schema.dateField('When it was written.'),
  likes: schema.countField('Number of likes.'),
  tags: schema.textsField('Tags of its topic.'),
});

const FORUM = schema.siteInput('Host name or URL of the forum, for example `forum.example.com`.');
const topicInput = schema.numberInput('Number of the topic: the last number of its address `/t/<name>/<number>`.');

/** Reads an address of the forum's interface. Forums that show topics only to members answer 403 with a word of their own. */
async function readForum(source: Source, url: string): Promise<JsonAnswer> {
  const answer = await source.json(url, { allowStatuses: [403] });
  if (answer.status !== 403) return answer;
  const isLogin = textMember(at(answer.body, 'error_type')) === 'not_logged_in';
  throw new SourceFailure(isLogin ? 'login_required' : 'access_denied', `403 from ${answer.url}`, false);
}

async function readTopics({ args, at: page }: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const number = Number(page ?? 0);
  const path = args.what === null ? ['latest.json'] : ['tag', `${args.what}.json`];
  const { body } = await readForum(source, address(args.site, path, { page: number }));
  const items = listIn(at(body, 'topic_list', 'topics'), 'topic_list.topics');
  const users = itemsOf(at(body, 'users'));
  return {
    kind: 'page',
    records: readEach(items, (item) => readTopic(item, users, args.site)),
    next: items.length > 0 && textMember(at(body, 'topic_list', 'more_topics_url')) !== null ? number + 1 : null,
    total: null,
  };
}

async function readPosts({ args, at: page }: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const number = Number(page ?? 1);
  const { body } = await readForum(source, address(args.site, ['t', `${args.what}.json`], { page: number }));
  const items = listIn(at(body, 'post_stream', 'posts'), 'post_stream.posts');
  const stream = itemsOf(at(body, 'post_stream', 'stream'));
  // Topics with more than 10,000 posts omit the stream.
  const total = stream.length > 0 ? stream.length : integerOf(at(body, 'posts_count'));
  const size = integerOf(at(body, 'chunk_size')) ?? POSTS_A_PAGE;
  const title = plainText(textMember(at(body, 'title')));
  return {
    kind: 'page',
    records: readEach(items, (item) => readPost(item, title, args.site)),
    next: items.length > 0 && total !== null && number * size < total ? number + 1 : null,
    total,
  };
}

async function readSearch({ args, at: page }: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const number = Number(page ?? 1);
  const { body } = await readForum(source, address(args.site, ['search.json'], { q: args.what, page: number }));
  const items = listIn(at(body, 'posts'), 'posts');
  const topics = new Map(itemsOf(at(body, 'topics')).map((topic) => [idOf(at(topic, 'id')), topic]));
  return {
    kind: 'page',
    records: readEach(items, (item) => readHit(item, topics.get(idOf(item['topic_id'])), args.site)),
    next: items.length > 0 && at(body, 'grouped_search_result', 'more_full_page_results') === true ? number + 1 : null,
    total: null,
  };
}

function readTopic(item: JsonObject, users: readonly JsonValue[], site: string): FoundRecord | null {
  const id = idOf(item['id']);
  if (id === null) return null;
  const url = address(site, ['t', textMember(item['slug']) ?? '-', id]);
  const [first] = itemsOf(item['posters']);
  const starter = users.find((user) => at(user, 'id') !== undefined && at(user, 'id') === at(first, 'user_id'));
  return recordOf(id, url, {
    title: plainText(textMember(item['title'])),
    excerpt: plainText(textMember(item['excerpt'])),
    author: writer(starter, site),
    published_at: isoDate(item['created_at']),
    updated_at: isoDate(item['last_posted_at']),
    category_id: idOf(item['category_id']),
    tags: tagsOf(item['tags']),
    posts: integerOf(item['posts_count']),
    replies: integerOf(item['reply_count']),
    views: integerOf(item['views']),
    likes: integerOf(item['like_count']),
    is_pinned: flagOf(item['pinned']),
    is_closed: flagOf(item['closed']),
  });
}

function readPost(item: JsonObject, topicTitle: string | null, site: string): FoundRecord | null {
  const head = readHead(item, item['topic_slug'], topicTitle, site);
  if (head === null) return null;
  const html = textMember(item['cooked']);
  const likes = itemsOf(item['actions_summary']).find((action) => at(action, 'id') === LIKE);
  return {
    ...head,
    fields: {
      ...head.fields,
      text: textOfHtml(html),
      html,
      published_at: isoDate(item['created_at']),
      updated_at: isoDate(item['updated_at']),
      reply_to_number: integerOf(item['reply_to_post_number']),
      likes: Array.isArray(item['actions_summary']) ? (integerOf(at(likes, 'count')) ?? 0) : null,
    },
  };
}

function readHit(item: JsonObject, topic: JsonValue | undefined, site: string): FoundRecord | null {
  const head = readHead(item, at(topic, 'slug'), plainText(textMember(at(topic, 'title'))), site);
  if (head === null) return null;
  return {
    ...head,
    fields: {
      ...head.fields,
      text: textOfHtml(textMember(item['blurb'])),
      published_at: isoDate(item['created_at']),
      likes: integerOf(item['like_count']),
      tags: tagsOf(at(topic, 'tags')),
    },
  };
}

/** Reads the fields that posts and hits have in common. */
function readHead(
  item: JsonObject,
  slug: JsonValue | undefined,
  topicTitle: string | null,
  site: string,
): FoundRecord | null {
  const id = idOf(item['id']);
  const topicId = idOf(item['topic_id']);
  const number = integerOf(item['post_number']);
  if (id === null || topicId === null || number === null) return null;
  const url = address(site, ['t', textMember(slug) ?? '-', topicId, String(number)]);
  const fields = { id, url, topic_id: topicId, topic_title: topicTitle, number, author: writer(item, site) };
  return { id, sourceUrl: url, fields };
}

function writer(person: JsonValue | undefined, site: string): JsonObject | null {
  const name = textMember(at(person, 'username'));
  return name === null || /^\.+$/.test(name) ? null : schema.author(name, address(site, ['u', name]));
}

/** Returns tag names. Newer forums list objects. */
function tagsOf(value: JsonValue | undefined): readonly string[] | null {
  return textsOf(value, (tag) => textMember(tag) ?? textMember(at(tag, 'name')));
}

const EXAMPLE_AUTHOR = { name: 'mira', url: 'https://forum.example.com/u/mira' };
const EXAMPLE_HEAD = {
  id: '981',
  url: 'https://forum.example.com/t/which-kettle/57/2',
  topic_id: '57',
  topic_title: 'Which kettle?',
  number: 2,
  author: EXAMPLE_AUTHOR,
};
const COMMON = { tier: 'basic', pageSizeMax: PAGE_SIZE_MAX, sizing: 'free' } as const;

export const discourse: Connector = {
  id: 'discourse',
  title: 'Discourse',
  description: 'Topics and posts of any public forum that runs Discourse.',
  docsUrl: 'https://docs.discourse.org/',
  terms: {
    termsUrl: null,
    attribution: null,
    ratePolicy:
      'By default 200 requests a minute from one address; forums may set less. Above the limit a forum responds with 429.',
  },
  operations: [
    chained<Args>({
      ...COMMON,
      name: 'site.topics',
      description: 'The topics of a forum, or of one of its tags, those with the newest posts first.',
      paging: 'By page number; the forum chooses the size of a page and announces no total.',
      input: schema.inputSchema(
        { site: FORUM, tag: schema.nameInput('Only topics with this tag.', '^[^\\s/?#.]+$', 100) },
        ['site'],
      ),
      record: TOPIC,
      example: {
        input: { site: 'forum.example.com' },
        record: {
          id: '57',
          url: 'https://forum.example.com/t/which-kettle/57',
          title: 'Which kettle?',
          excerpt: 'Mine broke, and I wonder…',
          author: EXAMPLE_AUTHOR,
          published_at: '2024-04-01T10:00:00Z',
          updated_at: '2024-04-03T18:20:00Z',
          category_id: '4',
          tags: ['kitchen'],
          posts: 12,
          replies: 7,
          views: 340,
          likes: 15,
          is_pinned: false,
          is_closed: false,
        },
      },
      begin: (input) => beginAt(input, (site) => ({ site, what: textMember(input['tag']) })),
      read: readTopics,
    }),
    chained<Args>({
      ...COMMON,
      name: 'topic.posts',
      description: 'The posts of a topic, oldest first.',
      paging: 'By page number, 20 a page; the forum announces the total.',
      input: schema.inputSchema({ site: FORUM, topic: topicInput }, ['site', 'topic']),
      record: POST,
      example: {
        input: { site: 'forum.example.com', topic: 57 },
        record: {
          ...EXAMPLE_HEAD,
          text: 'The blue one.',
          html: '<p>The blue one.</p>',
          published_at: '2024-04-01T10:05:00Z',
          updated_at: '2024-04-01T10:06:00Z',
          reply_to_number: 1,
          likes: 3,
        },
      },
      begin: (input) => beginAt(input, (site) => ({ site, what: givenText(input, 'topic') })),
      read: readPosts,
    }),
    chained<Args>({
      ...COMMON,
      name: 'search.posts',
      description:
        "The posts that a forum's own search finds, in the order of that search. The operators of the search work, such as `after:2024-01-01`.",
      paging: "By page number, 50 a page, up to the forum's limit; no total is announced.",
      input: schema.inputSchema({ site: FORUM, query: schema.queryInput('Words to look for.') }, ['site', 'query']),
      record: HIT,
      example: {
        input: { site: 'forum.example.com', query: 'kettle' },
        record: {
          ...EXAMPLE_HEAD,
          text: 'The blue one.',
          published_at: '2024-04-01T10:05:00Z',
          likes: 3,
          tags: ['kitchen'],
        },
      },
      begin: (input) => beginAt(input, (site) => ({ site, what: givenText(input, 'query') })),
      read: readSearch,
    }),
  ],
};
