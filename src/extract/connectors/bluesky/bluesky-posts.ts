import {
  SourceFailure,
  type FoundRecord,
  type JsonAnswer,
  type JsonObject,
  type JsonValue,
  type Source,
} from '../../base/connector.ts';
import { isoDate } from '../../read/dates.ts';
import { address, type AddressQuery } from '../kit/api-address.ts';
import { at, integerOf, itemsOf, objectOf, textMember, textsOf, urlOf } from '../kit/json.ts';
import { recordOf } from '../kit/record.ts';
import * as schema from '../kit/schema.ts';

export const BLUESKY_BASE = 'https://public.api.bsky.app';
const SITE = 'https://bsky.app';
/** What people see of an account whose handle does not lead back to it. Source: "Handle", "Handle Resolution". */
const INVALID_HANDLE = 'handle.invalid';

/** Matches a DID or a handle. */
export const ACCOUNT_PATTERN = 'did:[a-z]+:[A-Za-z0-9.:_-]+|[A-Za-z0-9-]+(?:\\.[A-Za-z0-9-]+)+';
const ACCOUNT_NAME = new RegExp(`^(?:${ACCOUNT_PATTERN})$`);
/** Matches the address of a post: its account and its key. */
export const POST_PATTERN = `^(?:https://bsky\\.app/profile/|at://)(${ACCOUNT_PATTERN})/(?:post|app\\.bsky\\.feed\\.post)/([A-Za-z0-9_~:-]+)$`;
const POST_ADDRESS = new RegExp(POST_PATTERN);

export const BLUESKY_POST = schema.recordSchema({
  id: schema.idField('Address of the post (`at://`); for a repost, followed by the account that reposted it.'),
  url: schema.urlField('The post on bsky.app.'),
  author: schema.authorField('Who wrote it.'),
  account: schema.textField('Handle of the author.'),
  text: schema.textField('The post as plain text.'),
  languages: schema.textsField('BCP 47 tags.'),
  published_at: schema.dateField('When it was written, by the clock of its author.'),
  indexed_at: schema.dateField('When Bluesky first saw it.'),
  tags: schema.textsField('Without `#`.'),
  reply_to_id: schema.textField('Address of the post that it replies to (`at://`).'),
  thread_id: schema.textField('Address of the first post of the thread that it replies in (`at://`).'),
  quoted_id: schema.textField('Address of what it quotes (`at://`), which may be a post, a feed or a list.'),
  reposted_by: schema.authorField('Who reposted it; null for any other post.'),
  reposted_at: schema.dateField('When it was reposted.'),
  replies: schema.countField('Number of replies.'),
  reposts: schema.countField('Number of reposts.'),
  quotes: schema.countField('Number of posts that quote it.'),
  likes: schema.countField('Number of likes.'),
  media_urls: schema.textsField('Images, and playlists of videos.'),
  link_url: schema.urlField('The link whose preview it shows.'),
});

/** Calls the interface. A missing account and one that is not shown are a status of 400 with a word. */
export async function askBluesky(source: Source, method: string, query: AddressQuery): Promise<JsonAnswer> {
  const url = address(source.base(BLUESKY_BASE), ['xrpc', `app.bsky.${method}`], query);
  const answer = await source.json(url, { allowStatuses: [400] });
  if (answer.status !== 400) return answer;
  const [word, message] = [textMember(at(answer.body, 'error')) ?? '', textMember(at(answer.body, 'message')) ?? ''];
  const isMissing = word === 'NotFound' || /not found|could not find|unable to resolve/i.test(message);
  const isHidden = /^(?:Account(?:Takedown|Deactivated|Suspended)|Blocked)/.test(word);
  throw new SourceFailure(
    isMissing ? 'source_not_found' : isHidden ? 'access_denied' : 'parse_failed',
    `400 from ${answer.url}: ${word.slice(0, 100)}`,
    false,
  );
}

/** Reads a post; `reason` is why it is in a feed, for example that it was reposted. */
export function readBlueskyPost(post: JsonValue | undefined, reason: JsonValue | undefined): FoundRecord | null {
  const uri = textMember(at(post, 'uri'));
  const record = at(post, 'record');
  // What pins a post to the top of its feed is a reason too, and has nobody in it.
  const reposter = objectOf(at(reason, 'by'));
  const by = textMember(at(reposter, 'did'));
  const embed = at(post, 'embed');
  return recordOf(uri === null || by === null ? uri : `${uri} ${by}`, postUrl(uri, at(post, 'author')), {
    author: readAuthor(at(post, 'author')),
    account: textMember(at(post, 'author', 'handle')),
    text: textMember(at(record, 'text')),
    languages: textsOf(at(record, 'langs')),
    published_at: isoDate(at(record, 'createdAt')),
    indexed_at: isoDate(at(post, 'indexedAt')),
    tags: tagsOf(record),
    reply_to_id: textMember(at(record, 'reply', 'parent', 'uri')),
    thread_id: textMember(at(record, 'reply', 'root', 'uri')),
    quoted_id: textMember(at(embed, 'record', 'uri')) ?? textMember(at(embed, 'record', 'record', 'uri')),
    reposted_by: reposter === null ? null : readAuthor(reposter),
    reposted_at: reposter === null ? null : isoDate(at(reason, 'indexedAt')),
    replies: integerOf(at(post, 'replyCount')),
    reposts: integerOf(at(post, 'repostCount')),
    quotes: integerOf(at(post, 'quoteCount')),
    likes: integerOf(at(post, 'likeCount')),
    ...readEmbed(embed),
  });
}

/** Media and a quotation together are one level deeper. */
function readEmbed(embed: JsonValue | undefined): JsonObject {
  const shown = objectOf(at(embed, 'media')) ?? embed;
  const images = itemsOf(at(shown, 'images')).flatMap((image) => urlOf(at(image, 'fullsize')) ?? []);
  const video = urlOf(at(shown, 'playlist'));
  return {
    media_urls: video === null ? images : [...images, video],
    link_url: urlOf(at(shown, 'external', 'uri')),
  };
}

/** Tags are marked in the text, and further ones are listed. */
function tagsOf(record: JsonValue | undefined): readonly string[] {
  const marked = itemsOf(at(record, 'facets'))
    .flatMap((facet) => itemsOf(at(facet, 'features')))
    .flatMap((feature) => textMember(at(feature, 'tag')) ?? []);
  return [...new Set([...marked, ...(textsOf(at(record, 'tags')) ?? [])])];
}

function readAuthor(value: JsonValue | undefined): JsonObject | null {
  const name = textMember(at(value, 'displayName')) ?? textMember(at(value, 'handle'));
  return schema.author(name, profileUrl(value));
}

export function profileUrl(person: JsonValue | undefined): string | null {
  const handle = textMember(at(person, 'handle'));
  const name = handle === null || handle === INVALID_HANDLE ? textMember(at(person, 'did')) : handle;
  return name === null || !ACCOUNT_NAME.test(name) ? null : `${SITE}/profile/${name}`;
}

function postUrl(uri: string | null, author: JsonValue | undefined): string | null {
  const key = uri === null ? undefined : POST_ADDRESS.exec(uri)?.[2];
  const profile = profileUrl(author);
  return key === undefined || profile === null ? null : `${profile}/post/${key}`;
}

export const EXAMPLE_BLUESKY_POST = {
  id: 'at://did:plc:mira234567/app.bsky.feed.post/3kteatime22a2',
  url: 'https://bsky.app/profile/mira.example.com/post/3kteatime22a2',
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
  media_urls: ['https://cdn.bsky.app/img/feed_fullsize/plain/did:plc:mira234567/bafkreitea'],
  link_url: null,
};
