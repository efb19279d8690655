import {
  SourceFailure,
  type JsonObject,
  type JsonValue,
  type Operation,
  type Source,
  type Step,
  type StepResult,
} from '../../base/connector.ts';
import type { FailureReason } from '../../../work/extraction-job.ts';
import { at, givenText, integerOf, itemsOf, objectIn, objectOf, readEach, textMember } from '../kit/json.ts';
import * as schema from '../kit/schema.ts';
import { restOfWindow } from '../kit/source-window.ts';
import { askBluesky, BLUESKY_POST, EXAMPLE_BLUESKY_POST, POST_PATTERN, readBlueskyPost } from './bluesky-posts.ts';

/**
 * Choice: a response may nest 64 levels. A reply takes two of them, a post that is replied to takes one, and the content of a post some 15.
 */
const LEVELS_BELOW = 20;
const LEVELS_ABOVE = 40;

const GONE: readonly FailureReason[] = ['source_not_found', 'access_denied'];

interface ThreadStep extends JsonObject {
  /** Address of the post (`at://`). */
  readonly uri: string;
  /** Whether only the replies below it are read, because the post was found by another step. */
  readonly isBelow: boolean;
}

function stepOf(state: ThreadStep): Step {
  return { key: state.uri, state };
}

/** A post that was deleted or hidden since it was found has no replies that can be read. */
async function readStep(state: ThreadStep, source: Source): Promise<StepResult> {
  try {
    return await readThread(state, source);
  } catch (error) {
    const isGone = error instanceof SourceFailure && GONE.includes(error.reason);
    if (!isGone || !state.isBelow) throw error;
    return { records: [], next: [], total: null };
  }
}

async function readThread(state: ThreadStep, source: Source): Promise<StepResult> {
  const { uri, isBelow } = state;
  const query = { uri, depth: LEVELS_BELOW, parentHeight: isBelow ? 0 : LEVELS_ABOVE };
  const answer = await askBluesky(source, 'feed.getPostThread', query);
  const thread = objectIn(at(answer.body, 'thread'), 'thread');
  if (thread['notFound'] === true) throw new SourceFailure('source_not_found', `no post at ${uri}`, false);
  if (thread['blocked'] === true) throw new SourceFailure('access_denied', `a blocked post at ${uri}`, false);
  const { posts, unread } = postsFrom(thread);
  const shown = isBelow ? posts.slice(1) : [...postsBefore(thread), ...posts];
  return {
    records: readEach(shown, (post) => readBlueskyPost(post, undefined)),
    next: unread.map((below) => stepOf({ uri: below, isBelow: true })),
    total: null,
    ...restOfWindow(answer, 'ratelimit'),
  };
}

/** Returns the posts that the thread's post replies to, the first one first. */
function postsBefore(thread: JsonObject): readonly JsonObject[] {
  const posts: JsonObject[] = [];
  for (let here = objectOf(thread['parent']); here !== null; here = objectOf(here['parent'])) {
    const post = objectOf(here['post']);
    if (post !== null) posts.push(post);
  }
  return posts.toReversed();
}

/**
 * Returns the thread's post and the replies below it. Those that were deleted or are blocked have no post. `unread`: addresses of those
 * whose replies are too deep for this response, which then has no list of them.
 */
function postsFrom(thread: JsonObject): { readonly posts: readonly JsonObject[]; readonly unread: readonly string[] } {
  const posts: JsonObject[] = [];
  const unread: string[] = [];
  const waiting: JsonValue[] = [thread];
  for (let here = waiting.pop(); here !== undefined; here = waiting.pop()) {
    const post = objectOf(at(here, 'post'));
    const replies = at(here, 'replies');
    if (post !== null) posts.push(post);
    const uri = textMember(at(post ?? undefined, 'uri')) ?? '';
    const hasMore = !Array.isArray(replies) && (integerOf(at(post ?? undefined, 'replyCount')) ?? 0) > 0;
    if (hasMore && here !== thread && POST_ADDRESS.test(uri) && uri.length <= URI_CHARACTERS_MAX) unread.push(uri);
    for (const reply of itemsOf(replies).toReversed()) waiting.push(reply);
  }
  return { posts, unread };
}

const POST_ADDRESS = new RegExp(POST_PATTERN);
/** Choice: addresses of posts have under 100 characters. With this limit, the steps of a job stay under 4 KiB. */
const URI_CHARACTERS_MAX = 500;

export const postThread: Operation = {
  name: 'post.thread',
  description:
    'A post, at most 40 of the posts that it replies to, and all replies to it that the AppView shows; `reply_to_id` names the post that each replies to.',
  tier: 'basic',
  paging: 'By levels, 20 of replies a request; no total is announced.',
  input: schema.inputSchema(
    {
      post: schema.nameInput(
        'Address of the post on bsky.app, or its `at://` address.',
        POST_PATTERN,
        URI_CHARACTERS_MAX,
      ),
    },
    ['post'],
  ),
  record: BLUESKY_POST,
  example: { input: { post: EXAMPLE_BLUESKY_POST.url }, record: EXAMPLE_BLUESKY_POST },
  start(input) {
    const [, name = '', key = ''] = POST_ADDRESS.exec(givenText(input, 'post')) ?? [];
    return { kind: 'steps', steps: [stepOf({ uri: `at://${name}/app.bsky.feed.post/${key}`, isBelow: false })] };
  },
  run: (step, source) => readStep(step as ThreadStep, source),
  carriesRest: (step) => step['isBelow'] === true,
};
