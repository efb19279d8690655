import { problem } from '../../contract/problem.ts';
import { QUERIES } from '../../contract/routes.ts';
import { SourceRate, type SourceState } from '../../decide/source-rate.ts';
import type { Handler, RequestHead } from '../../http/exchange.ts';
import { sendProblem } from '../../http/reply.ts';
import { changeBytes } from '../../state/tables/watch-table.ts';
import type { Watch } from '../../work/watch.ts';
import type { EndpointFactory } from '../kit/endpoint-factory.ts';
import type { EndpointHandler } from '../kit/endpoint-types.ts';
import { readPage } from '../kit/paging.ts';
import { AnswerPieces } from '../kit/response-pieces.ts';
import { FEED_CHANGES_MAX, FEED_TYPES, feedOf } from './watch-feeds.ts';
import { WATCH_NOT_FOUND, type WatchHandlerParts, watchOf } from './watch-lookup.ts';
import { changeJson, customerOfToken, isFeedToken, type NumberedChange } from './watch-wire.ts';

/** The changes of a watch, for its customer's keys, and as a feed for its token. Source: contract, 11.7. */

/** Choice: readers behind one address ask some times an hour. Counts every request with a token. */
const TOKEN_REQUESTS_PER_SOURCE = 600;
/** Choice: a feed costs some 5 ms of the thread that decides, and its readers need no right but the token. */
const TOKEN_REQUESTS_PER_WATCH = 60;
/** Choice: of the records of one feed, which is built in one piece. */
const FEED_BYTES_MAX = 256 * 1_024;

type ChangesParts = Pick<WatchHandlerParts, 'watches' | 'cursors' | 'resetRead' | 'isSuspended' | 'nowMs'>;

/** A request with `?token=` needs no key, and gets Atom or RSS only. */
export function changesHandler(endpoint: EndpointFactory, parts: ChangesParts): Handler {
  const byKey = endpoint({}, pageOfChanges(parts));
  const byToken = feedByToken(parts);
  return (head, exchange) => (new URLSearchParams(head.query).has('token') ? byToken : byKey)(head, exchange);
}

function pageOfChanges({ watches, cursors }: ChangesParts): EndpointHandler {
  return async (request) => {
    const watch = watchOf(request, { watches });
    if (watch === null) return WATCH_NOT_FOUND;
    const isNewest = request.query.get('order') === 'newest';
    // A cursor of one order is refused in the other.
    const route = `/v1/watches/${watch.id}/changes${isNewest ? '?newest' : ''}`;
    const read = readPage(request, cursors, route, QUERIES.listWatchChanges);
    if (read.kind === 'problem') return read;
    const { after, limit } = read;
    const { format } = read.values;
    if (format === 'atom' || format === 'rss') {
      const body = feedOf(format, watch, newest(watches, watch));
      return { kind: 'text', status: 200, contentType: FEED_TYPES[format], body };
    }
    const { changes, nextSeq, hasMore } = isNewest
      ? newestPage(watches, watch, after, limit)
      : oldestPage(watches, watch, after, limit);
    // Also at the end of the oldest, from where later changes continue.
    const cursor = isNewest && !hasMore ? null : cursors.issue(route, request.caller.customer, String(nextSeq));
    const pieces = new AnswerPieces(request.slices);
    if (format === 'json') pieces.put('{"data":[');
    for (const [at, change] of changes.entries()) {
      if (format === 'json' && at > 0) pieces.put(',');
      pieces.put(changeJson(watch, change) + (format === 'json' ? '' : '\n'));
      if (request.slices.isOver) await request.slices.begin();
    }
    if (format === 'json') pieces.put(`],"has_more":${hasMore},"next_cursor":${JSON.stringify(cursor)}}`);
    const contentType = format === 'json' ? 'application/json' : 'application/x-ndjson';
    const headers = format === 'json' || cursor === null ? {} : { 'X-Next-Cursor': cursor };
    return { kind: 'pieces', status: 200, contentType, pieces: pieces.done(), headers };
  };
}

interface ChangePage {
  readonly changes: readonly NumberedChange[];
  /** What the cursor holds: the number from which the next page goes on, or before which, newest first. */
  readonly nextSeq: number;
  readonly hasMore: boolean;
}

function oldestPage(watches: ChangesParts['watches'], watch: Watch, after: string | null, limit: number): ChangePage {
  const fromSeq = Math.max(Number(after ?? 0), watch.firstSeq);
  const changes = watches.changes(watch, { fromSeq, limit });
  const nextSeq = (changes.at(-1)?.seq ?? fromSeq - 1) + 1;
  return { changes, nextSeq, hasMore: nextSeq < watch.nextSeq };
}

function newestPage(watches: ChangesParts['watches'], watch: Watch, after: string | null, limit: number): ChangePage {
  const beforeSeq = after === null ? watch.nextSeq : Number(after);
  const changes = watches.changes(watch, { fromSeq: 0, beforeSeq, limit, newest: true });
  const nextSeq = changes.at(-1)?.seq ?? watch.firstSeq;
  return { changes, nextSeq, hasMore: nextSeq > watch.firstSeq };
}

/** Returns as many of the newest changes as a feed may hold, at least one. */
function newest(watches: ChangesParts['watches'], watch: Watch): readonly NumberedChange[] {
  const changes = watches.changes(watch, { fromSeq: 0, limit: FEED_CHANGES_MAX, newest: true });
  let bytes = 0;
  const beyond = changes.findIndex((change, at) => (bytes += changeBytes(change)) > FEED_BYTES_MAX && at > 0);
  return beyond === -1 ? changes : changes.slice(0, beyond);
}

function feedByToken(given: ChangesParts): Handler {
  const sources = new SourceRate(TOKEN_REQUESTS_PER_SOURCE);
  const watches = new SourceRate(TOKEN_REQUESTS_PER_WATCH);
  return (head, exchange) => {
    // Nobody reads a body, which would be parsed as the next request.
    const close = head.contentLength > 0 || head.lengthFault !== null || head.formFault !== null;
    const isTooOften = ({ allowed, retryAfterSeconds }: SourceState, whom: string): boolean => {
      const tooOften = problem('rate_limited', `${whom} too often.`, { retryAfterSeconds });
      if (!allowed) sendProblem(exchange, tooOften, { close });
      return !allowed;
    };
    const nowSeconds = Math.floor(given.nowMs() / 1_000);
    if (isTooOften(sources.take(exchange.remoteAddress(), nowSeconds), 'This address has read feeds')) return;
    const query = new URLSearchParams(head.query);
    const watch = watchOfToken(query.get('token') ?? '', head, given);
    if (watch === null) return sendProblem(exchange, WRONG_TOKEN, { close });
    const format = query.get('format');
    if (format !== 'atom' && format !== 'rss') return sendProblem(exchange, NO_FEED, { close });
    if (isTooOften(watches.take(watch.id, nowSeconds), 'The feed of this watch was read')) return;
    const fields = `${FEED_TYPES[format]}; charset=utf-8\r\nCache-Control: private, max-age=60\r\nX-Content-Type-Options: nosniff`;
    exchange.send(200, fields, feedOf(format, watch, newest(given.watches, watch)), close);
  };
}

/** Returns null for a wrong token, for a watch that does not exist, and for a customer who is suspended. */
function watchOfToken(token: string, head: RequestHead, given: ChangesParts): Watch | null {
  const customer = customerOfToken(token);
  if (customer === null || given.isSuspended(customer)) return null;
  given.resetRead();
  const watch = given.watches.find(customer, head.params['id'] ?? '');
  return watch !== null && isFeedToken(token, watch) ? watch : null;
}

const WRONG_TOKEN = problem('unknown_key', 'This is not the feed token of a watch.');
const NO_FEED = problem('invalid_request', 'A feed token reads format=atom or format=rss.', {
  errors: [{ pointer: '?format', code: 'invalid_value', message: 'This must be atom or rss.' }],
});
