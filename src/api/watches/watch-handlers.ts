import { problem } from '../../contract/problem.ts';
import { QUERIES, ROUTES } from '../../contract/routes.ts';
import type { SecretHandlers } from '../../http/handlers.ts';
import { newId } from '../../kernel/ids.ts';
import { NO_RUNS, type Watch, type WatchId, type WatchSettings, WATCHES_MAX } from '../../work/watch.ts';
import { dueAfter, firstDue } from '../../work/watch-schedule.ts';
import { originOf } from '../kit/actor.ts';
import type { EndpointFactory } from '../kit/endpoint-factory.ts';
import type { EndpointHandler, EndpointResponse } from '../kit/endpoint-types.ts';
import { readPage } from '../kit/paging.ts';
import { ANY_REQUEST_BODY, type BodyOf } from '../kit/request-body.ts';
import { pageAnswer } from '../kit/response-pieces.ts';
import { withOptionalBody } from '../webhook-handlers.ts';
import { watchBody, watchChangeBody } from './watch-body.ts';
import { changesHandler } from './watch-changes.ts';
import { WATCH_NOT_FOUND, type WatchHandlerParts, watchOf } from './watch-lookup.ts';
import { newFeedToken, watchJson } from './watch-wire.ts';

type WatchEndpointId =
  | 'listWatches'
  | 'createWatch'
  | 'findWatch'
  | 'changeWatch'
  | 'deleteWatch'
  | 'runWatch'
  | 'rotateFeedToken'
  | 'listWatchChanges';

const ROUTE = ROUTES.listWatches.path;

export function watchHandlers(endpoint: EndpointFactory, parts: WatchHandlerParts): SecretHandlers<WatchEndpointId> {
  const body = watchBody(parts.request);
  const change = watchChangeBody(parts.request);
  return {
    listWatches: endpoint({}, pageHandler(parts)),
    createWatch: endpoint({ body }, creation(parts)),
    findWatch: endpoint({}, (request) => {
      const watch = watchOf(request, parts);
      return watch === null ? WATCH_NOT_FOUND : { kind: 'json', status: 200, body: watchJson(watch) };
    }),
    changeWatch: endpoint({ body: change }, changing(parts)),
    deleteWatch: endpoint({}, removal(parts)),
    runWatch: withOptionalBody(endpoint, ANY_REQUEST_BODY, starting(parts)),
    rotateFeedToken: withOptionalBody(endpoint, ANY_REQUEST_BODY, rotation(parts)),
    listWatchChanges: changesHandler(endpoint, parts),
  };
}

function pageHandler({ watches, cursors }: WatchHandlerParts): EndpointHandler {
  return (request) => {
    const read = readPage(request, cursors, ROUTE, QUERIES.listWatches);
    if (read.kind === 'problem') return read;
    const { customer } = request.caller;
    const { after, limit } = read;
    // At most 100, by their ids.
    const rest = watches.of(customer).filter(({ id }) => after === null || id > after);
    const rows = rest.slice(0, limit);
    const last = rows.at(-1);
    const next = last === undefined || rest.length <= limit ? null : cursors.issue(ROUTE, customer, last.id);
    return pageAnswer(request.slices, rows, watchJson, next);
  };
}

function creation(parts: WatchHandlerParts): EndpointHandler<BodyOf<ReturnType<typeof watchBody>>> {
  return async (request) => {
    if (request.body.kind === 'problem') return request.body;
    const settings = request.body.value;
    const { customer } = request.caller;
    const nowMs = parts.nowMs();
    const dueAtMs = firstDue(settings.schedule, nowMs);
    const token = newFeedToken(customer);
    const watch: Watch = {
      ...settings,
      id: newId('wat', nowMs) as WatchId,
      customer,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
      anchorMs: dueAtMs,
      dueAtMs,
      ...NO_RUNS,
      tokenHash: token.hash,
    };
    const made = await parts.changes.commit({ kind: 'watch.created', watch }, { ...originOf(request), nowMs });
    if (made.kind === 'fault') return made;
    if (made.value === 'limit_reached') return LIMIT_REACHED;
    const headers = { Location: `${ROUTE}/${watch.id}` };
    return { kind: 'json', status: 201, body: { ...watchJson(watch), feed_token: token.text }, headers };
  };
}

function changing(parts: WatchHandlerParts): EndpointHandler<BodyOf<ReturnType<typeof watchChangeBody>>> {
  return async (request) => {
    if (request.body.kind === 'problem') return request.body;
    const settings = request.body.value;
    const watch = watchOf(request, parts);
    if (watch === null) return WATCH_NOT_FOUND;
    const nowMs = parts.nowMs();
    const written = await parts.changes.commit(
      {
        kind: 'watch.changed',
        customer: watch.customer,
        id: watch.id,
        change: { ...settings, ...dueTimes(watch, settings, nowMs) },
        resets: comparesOtherwise(watch, settings),
      },
      { ...originOf(request), nowMs },
    );
    if (written.kind === 'fault') return written;
    return written.value === null ? WATCH_NOT_FOUND : { kind: 'json', status: 200, body: watchJson(written.value) };
  };
}

/** Due times while it was paused were not missed. */
function dueTimes(
  watch: Watch,
  { schedule, isPaused }: Partial<WatchSettings>,
  nowMs: number,
): Partial<Pick<Watch, 'anchorMs' | 'dueAtMs'>> {
  if (schedule !== undefined) {
    const dueAtMs = firstDue(schedule, nowMs);
    return { anchorMs: dueAtMs, dueAtMs };
  }
  if (!watch.isPaused || isPaused !== false) return {};
  return { dueAtMs: dueAfter(watch.schedule, watch.anchorMs, nowMs) };
}

function differs(given: unknown, before: unknown): boolean {
  return given !== undefined && JSON.stringify(given) !== JSON.stringify(before);
}

function comparesOtherwise(watch: Watch, { extraction, key, compare }: Partial<WatchSettings>): boolean {
  return differs(extraction, watch.extraction) || differs(key, watch.key) || differs(compare, watch.compare);
}

function removal({ changes }: WatchHandlerParts): EndpointHandler {
  return async (request) => {
    const id = (request.params['id'] ?? '') as WatchId;
    const { customer } = request.caller;
    const removed = await changes.commit({ kind: 'watch.removed', customer, id }, originOf(request));
    if (removed.kind === 'fault') return removed;
    return removed.value ? { kind: 'empty', status: 204 } : WATCH_NOT_FOUND;
  };
}

function starting(parts: WatchHandlerParts): EndpointHandler<unknown> {
  return async (request) => {
    const watch = watchOf(request, parts);
    if (watch === null) return WATCH_NOT_FOUND;
    if (watch.running !== null) return RUNNING;
    const { customer, id, runs, dueAtMs } = watch;
    const begun = await parts.changes.commit(
      { kind: 'watch.begun', customer, id, run: runs + 1, dueAtMs: null, missed: 0, nextDueAtMs: dueAtMs, node: null },
      { ...originOf(request), nowMs: parts.nowMs() },
    );
    if (begun.kind === 'fault') return begun;
    if (begun.value === null) return WATCH_NOT_FOUND;
    return begun.value === 'stale' ? RUNNING : { kind: 'json', status: 202, body: watchJson(begun.value) };
  };
}

function rotation(parts: WatchHandlerParts): EndpointHandler<unknown> {
  return async (request) => {
    const watch = watchOf(request, parts);
    if (watch === null) return WATCH_NOT_FOUND;
    const { customer, id } = watch;
    const token = newFeedToken(customer);
    const change = { tokenHash: token.hash };
    const written = await parts.changes.commit(
      { kind: 'watch.changed', customer, id, change, resets: false },
      { ...originOf(request), nowMs: parts.nowMs() },
    );
    if (written.kind === 'fault') return written;
    return written.value === null ? WATCH_NOT_FOUND : { kind: 'json', status: 200, body: { feed_token: token.text } };
  };
}

const RUNNING: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_ready', 'A run of this watch is on its way.'),
};

const LIMIT_REACHED: EndpointResponse = {
  kind: 'problem',
  problem: problem('limit_reached', `A customer has at most ${WATCHES_MAX} watches.`),
};
