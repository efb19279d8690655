import type { Connector, FoundRecord, JsonAnswer, JsonObject, JsonValue, Source } from '../base/connector.ts';
import { isoDate } from '../read/dates.ts';
import {
  ACCOUNT_PATTERN,
  askBluesky,
  BLUESKY_BASE,
  EXAMPLE_BLUESKY_POST,
  BLUESKY_POST,
  profileUrl,
  readBlueskyPost,
} from './bluesky/bluesky-posts.ts';
import { postThread } from './bluesky/post-thread.ts';
import { chained, type ChainTurn, type Cursor, type PageResult } from './kit/chain.ts';
import { at, givenText, listIn, readEach, textMember, urlOf } from './kit/json.ts';
import { recordOf } from './kit/record.ts';
import * as schema from './kit/schema.ts';
import { restOfWindow } from './kit/source-window.ts';

/** Source: the lexicons of both calls, `limit`. */
const PAGE_SIZE_MAX = 100;
interface Args extends JsonObject {
  /** The account or the query. */
  readonly what: string;
  readonly filter: string | null;
}

const ACCOUNT = schema.recordSchema({
  id: schema.idField('DID of the account.'),
  url: schema.urlField('The account on bsky.app.'),
  account: schema.textField('Its handle.'),
  name: schema.textField('As people see it.'),
  description: schema.textField('What it says about itself.'),
  image_url: schema.urlField('Its picture.'),
  created_at: schema.dateField('When it was created.'),
  indexed_at: schema.dateField('When Bluesky last read what it says about itself.'),
});

async function readFeed({ args, at: cursor, size }: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const query = { actor: args.what, filter: args.filter, limit: size, cursor };
  const answer = await askBluesky(source, 'feed.getAuthorFeed', query);
  const items = listIn(at(answer.body, 'feed'), 'feed');
  return pageOf(
    answer,
    readEach(items, (item) => readBlueskyPost(item['post'], item['reason'])),
  );
}

async function readSearch({ args, at: cursor, size }: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const answer = await askBluesky(source, 'actor.searchActors', { q: args.what, limit: size, cursor });
  return pageOf(answer, readEach(listIn(at(answer.body, 'actors'), 'actors'), readAccount));
}

function pageOf(answer: JsonAnswer, records: readonly FoundRecord[]): PageResult<Args> {
  const next: Cursor = textMember(at(answer.body, 'cursor'));
  return { kind: 'page', records, next, total: null, ...restOfWindow(answer, 'ratelimit') };
}

function readAccount(item: JsonObject): FoundRecord | null {
  return recordOf(textMember(item['did']), profileUrl(item), {
    account: textMember(item['handle']),
    name: textMember(item['displayName']),
    description: textMember(item['description']),
    image_url: urlOf(item['avatar']),
    created_at: isoDate(item['createdAt']),
    indexed_at: isoDate(item['indexedAt']),
  });
}

/** Source: lexicon `app.bsky.feed.getAuthorFeed`, `filter`. */
const FILTERS = new Map<JsonValue | undefined, string>([
  ['without_replies', 'posts_no_replies'],
  ['with_media', 'posts_with_media'],
]);
const LIST = {
  tier: 'basic',
  pageSizeMax: PAGE_SIZE_MAX,
  sizing: 'free',
  paging: 'By cursor, 100 a page; no total is announced.',
} as const;

export const bluesky: Connector = {
  id: 'bluesky',
  title: 'Bluesky',
  description:
    'Public posts of accounts, threads, and the search of accounts, from the public AppView. The search of posts needs an account, and is therefore not offered.',
  docsUrl: 'https://docs.bsky.app/docs/advanced-guides/api-directory',
  hosts: [new URL(BLUESKY_BASE).hostname],
  terms: {
    termsUrl: 'https://bsky.social/about/support/tos',
    attribution: null,
    ratePolicy: 'No key. If the interface announces that a window is used up, the job waits for the next one.',
  },
  operations: [
    chained<Args>({
      ...LIST,
      name: 'account.posts',
      description: 'The posts and reposts of an account, newest first.',
      input: schema.inputSchema(
        {
          account: schema.nameInput(
            'Handle or DID of the account, with or without an `@` before it.',
            `^@?(?:${ACCOUNT_PATTERN})$`,
            300,
          ),
          posts: schema.choiceInput('Which posts.', ['all', 'without_replies', 'with_media'], 'all'),
        },
        ['account'],
      ),
      record: BLUESKY_POST,
      example: { input: { account: 'mira.example.com' }, record: EXAMPLE_BLUESKY_POST },
      begin: (input) => ({
        kind: 'args',
        args: {
          what: givenText(input, 'account').replace(/^@/, ''),
          filter: FILTERS.get(input['posts']) ?? null,
        },
      }),
      read: readFeed,
    }),
    postThread,
    chained<Args>({
      ...LIST,
      name: 'search.accounts',
      description: 'Accounts whose names, handles or descriptions match the query.',
      input: schema.inputSchema({ query: schema.queryInput('Words to look for.') }, ['query']),
      record: ACCOUNT,
      example: {
        input: { query: 'tea' },
        record: {
          id: 'did:plc:mira234567',
          url: 'https://bsky.app/profile/mira.example.com',
          account: 'mira.example.com',
          name: 'Mira',
          description: 'Tea and kettles.',
          image_url: 'https://cdn.bsky.app/img/avatar/plain/did:plc:mira234567/bafkreiface',
          created_at: '2023-05-02T08:00:00Z',
          indexed_at: '2024-05-02T08:00:00Z',
        },
      },
      begin: (input) => ({ kind: 'args', args: { what: givenText(input, 'query'), filter: null } }),
      read: readSearch,
    }),
  ],
};
