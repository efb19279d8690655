import { SourceFailure, type Connector, type FoundRecord, type JsonObject, type Source } from '../base/connector.ts';
import { isoDate } from '../read/dates.ts';
import { textOfHtml } from '../read/html.ts';
import { address, type AddressQuery } from './kit/api-address.ts';
import { chained, type PageResult, type ChainTurn } from './kit/chain.ts';
import {
  at,
  givenText,
  idOf,
  integerOf,
  listIn,
  objectOf,
  readEach,
  textMember,
  textsOf,
  unreadable,
  urlOf,
} from './kit/json.ts';
import { nextQuery } from './kit/link-header.ts';
import { recordOf } from './kit/record.ts';
import * as schema from './kit/schema.ts';
import { beginAt } from './kit/sites.ts';

/** Source: the methods "accounts" and "timelines", parameter `limit`. */
const PAGE_SIZE_MAX = 40;

interface Args extends JsonObject {
  readonly site: string;
  /** `user` or `user@host`; or the tag without its `#`. */
  readonly what: string;
  /** Number of the account on this server; null until it is looked up, and for tags. */
  readonly accountId: string | null;
  readonly query: { readonly [name: string]: boolean };
}

const POST = schema.recordSchema({
  id: schema.idField('Number of the post on the server in `site`.'),
  url: schema.urlField('Address of the post on the server where it was written.'),
  author: schema.authorField('Who wrote it; for a repost, who reposted it.'),
  account: schema.textField('Address of the author: `user`, or `user@host` for another server.'),
  text: schema.textField('The post as plain text; for a repost, the text of the original.'),
  html: schema.textField('The same as HTML.'),
  content_warning: schema.textField('The warning that its author put before it.'),
  language: schema.textField('ISO 639 code.'),
  published_at: schema.dateField('When it was posted.'),
  updated_at: schema.dateField('When it was last changed; null if it never was.'),
  tags: schema.textsField('Without `#`.'),
  reply_to_id: schema.textField('Number of the post that it replies to.'),
  reposted_url: schema.urlField('Address of the original of a repost; null for any other post.'),
  replies: schema.countField('Number of replies that this server knows of.'),
  reposts: schema.countField('Number of reposts.'),
  favourites: schema.countField('Number of likes.'),
  media_urls: schema.textsField('Images, sounds and videos.'),
  link_url: schema.urlField('The link whose preview it shows.'),
});

async function readAccount(turn: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const { site, what } = turn.args;
  const accountId = turn.args.accountId ?? (await lookUp(site, what, source));
  return readPage(['accounts', accountId, 'statuses'], { ...turn, args: { ...turn.args, accountId } }, source);
}

async function lookUp(site: string, account: string, source: Source): Promise<string> {
  const { body } = await source.json(address(site, ['api', 'v1', 'accounts', 'lookup'], { acct: account }));
  const id = idOf(at(body, 'id'));
  if (id === null) throw unreadable('an account without a number');
  return id;
}

async function readPage(path: readonly string[], turn: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const { args, at: cursor, size } = turn;
  const query: AddressQuery = { limit: size, ...args.query, max_id: cursor };
  // Servers that show their timelines only to members respond with 422.
  const answer = await source.json(address(args.site, ['api', 'v1', ...path], query), { allowStatuses: [422] });
  if (answer.status === 422) throw new SourceFailure('login_required', `422 from ${answer.url}`, false);
  const items = listIn(answer.body, 'the timeline');
  const next = nextQuery(answer.headers['link'])?.get('max_id') ?? null;
  const records = readEach(items, readPost);
  // The last page of a timeline has a header too, which names only the page before. Servers of other software, and some proxies, send none.
  const isCut = items.length >= size && answer.headers['link'] === undefined;
  const mayGoOn = `${answer.url} is a full page without a Link header`;
  return {
    kind: 'page',
    records,
    next: items.length > 0 ? next : null,
    total: null,
    args,
    ...(isCut && { mayGoOn }),
  };
}

function readPost(item: JsonObject): FoundRecord | null {
  const id = idOf(item['id']);
  const url = urlOf(item['url']) ?? urlOf(item['uri']);
  // A post that reblogs another one has no content of its own.
  const original = objectOf(item['reblog']);
  const shown = original ?? item;
  const html = textMember(shown['content']);
  return recordOf(id, url, {
    author: schema.author(
      textMember(at(item, 'account', 'display_name')) ?? textMember(at(item, 'account', 'username')),
      urlOf(at(item, 'account', 'url')),
    ),
    account: textMember(at(item, 'account', 'acct')),
    text: textOfHtml(html),
    html,
    content_warning: textMember(shown['spoiler_text']),
    language: textMember(shown['language']),
    published_at: isoDate(item['created_at']),
    updated_at: isoDate(item['edited_at']),
    tags: textsOf(shown['tags'], (tag) => textMember(at(tag, 'name'))),
    reply_to_id: idOf(item['in_reply_to_id']),
    reposted_url: original === null ? null : (urlOf(original['url']) ?? urlOf(original['uri'])),
    replies: integerOf(shown['replies_count']),
    reposts: integerOf(shown['reblogs_count']),
    favourites: integerOf(shown['favourites_count']),
    media_urls: textsOf(
      shown['media_attachments'],
      (media) => urlOf(at(media, 'url')) ?? urlOf(at(media, 'remote_url')),
    ),
    link_url: urlOf(at(shown, 'card', 'url')),
  });
}

const SERVER = schema.siteInput('Host name or URL of the server, for example `mastodon.social`.');
const EXAMPLE_POST = {
  id: '112400000000000001',
  url: 'https://social.example/@mira/112400000000000001',
  author: { name: 'Mira', url: 'https://social.example/@mira' },
  account: 'mira',
  text: 'Tea time. #tea',
  html: '<p>Tea time. <a href="https://social.example/tags/tea">#<span>tea</span></a></p>',
  content_warning: null,
  language: 'en',
  published_at: '2024-05-02T08:00:00Z',
  updated_at: null,
  tags: ['tea'],
  reply_to_id: null,
  reposted_url: null,
  replies: 2,
  reposts: 1,
  favourites: 9,
  media_urls: [],
  link_url: null,
};
const COMMON = {
  record: POST,
  tier: 'basic',
  pageSizeMax: PAGE_SIZE_MAX,
  sizing: 'free',
  paging: "By the server's `Link` header, 40 a page; no total is announced.",
} as const;

export const mastodon: Connector = {
  id: 'mastodon',
  title: 'Mastodon',
  description: 'Public posts of accounts and tags on any Mastodon server, and on servers with the same interface.',
  docsUrl: 'https://docs.joinmastodon.org/methods/',
  terms: {
    termsUrl: null,
    attribution: null,
    ratePolicy:
      '300 requests in five minutes from one address by default. Some servers show timelines to members alone.',
  },
  operations: [
    chained<Args>({
      ...COMMON,
      name: 'account.posts',
      description: 'The public posts of an account, newest first.',
      input: schema.inputSchema(
        {
          site: SERVER,
          account: schema.nameInput(
            '`user` on that server, or `user@host`, with or without an `@` before it.',
            '^@?[A-Za-z0-9_.-]+(?:@[A-Za-z0-9.-]+(?::[0-9]{1,5})?)?$',
          ),
          without_replies: schema.flagInput('Excludes replies to others.'),
          without_reposts: schema.flagInput('Excludes reposts.'),
        },
        ['site', 'account'],
      ),
      example: { input: { site: 'social.example', account: '@mira' }, record: EXAMPLE_POST },
      begin: (input) =>
        beginAt(input, (site) => ({
          site,
          what: givenText(input, 'account').replace(/^@/, ''),
          accountId: null,
          query: {
            exclude_replies: input['without_replies'] === true,
            exclude_reblogs: input['without_reposts'] === true,
          },
        })),
      read: readAccount,
    }),
    chained<Args>({
      ...COMMON,
      name: 'tag.posts',
      description: 'The public posts with a tag, as far as the server knows them, newest first.',
      input: schema.inputSchema(
        {
          site: SERVER,
          tag: schema.nameInput('The tag, with or without its `#`.', '^#?[^\\s/?#.&]+$', 100),
          only_local: schema.flagInput('Only posts that were written on this server.'),
        },
        ['site', 'tag'],
      ),
      example: { input: { site: 'social.example', tag: 'tea' }, record: EXAMPLE_POST },
      begin: (input) =>
        beginAt(input, (site) => ({
          site,
          what: givenText(input, 'tag').replace(/^#/, ''),
          accountId: null,
          query: { local: input['only_local'] === true },
        })),
      read: (turn, source) => readPage(['timelines', 'tag', turn.args.what], turn, source),
    }),
  ],
};
