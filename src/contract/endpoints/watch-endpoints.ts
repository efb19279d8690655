import * as z from 'zod';
import {
  body,
  type EndpointTexts,
  json,
  noContent,
  optionalBody,
  reads,
  writes,
  writesAnyBody,
  writesBody,
} from '../endpoint.ts';
import { WATCH_ID } from '../parameters.ts';
import { WATCH_PATCH, WATCH_REQUEST } from '../requests/watch-requests.ts';
import { ANY_OBJECT } from '../requests/webhook-requests.ts';
import { FEED_TOKEN, WATCH, WATCH_CHANGE_PAGE, WATCH_CREATED, WATCH_PAGE } from '../responses/watch-responses.ts';
import { QUERIES } from '../routes.ts';

const REFUSED = ['blocked_url', 'unknown_connector', 'unknown_operation'] as const;

export const WATCH_ENDPOINTS = {
  listWatches: {
    tag: 'watches',
    summary: "The caller's own watches, oldest first",
    guide: '200 with a page, oldest first',
    query: QUERIES.listWatches,
    responses: { 200: json(WATCH_PAGE, 'A page of watches') },
    problems: reads(),
  },
  createWatch: {
    tag: 'watches',
    summary: 'Run an extraction again and again, and keep what changes',
    description:
      'At most 100 a customer. The first complete run is the baseline and gives no changes. A record is gone when two complete runs in a ' +
      'row lack it.',
    guide: 'Body: [a watch](#watches). 201 with the watch, its `feed_token`, which is shown only here, and `Location`',
    body: body(WATCH_REQUEST),
    responses: { 201: json(WATCH_CREATED, 'The watch', ['Location']) },
    problems: writesBody('limit_reached', ...REFUSED),
  },
  findWatch: {
    tag: 'watches',
    summary: "One of the caller's own watches",
    guide: '200 with the watch and its last run, or 404',
    params: { id: WATCH_ID },
    responses: { 200: json(WATCH, 'The watch') },
    problems: reads('not_found'),
  },
  changeWatch: {
    tag: 'watches',
    summary: 'Change, pause or resume a watch',
    description:
      'Another extraction, key or compare makes the next complete run the baseline again. A run on its way is then abandoned.',
    guide: 'Body: any fields of a watch; `"paused": true` pauses it. 200 with the watch, or 404',
    params: { id: WATCH_ID },
    body: body(WATCH_PATCH),
    responses: { 200: json(WATCH, 'The watch') },
    problems: writesBody('not_found', ...REFUSED),
  },
  deleteWatch: {
    tag: 'watches',
    summary: 'Delete a watch with its changes',
    guide: '204, or 404. Its changes go with it; an extraction on its way goes on',
    params: { id: WATCH_ID },
    responses: { 204: noContent('The watch is deleted') },
    problems: writes('not_found'),
  },
  runWatch: {
    tag: 'watches',
    summary: 'Run a watch now',
    description: 'Its due times stay as they are. A paused watch runs too.',
    guide: '202 with the watch; 409 `not_ready` while a run is on its way. Needs no body',
    params: { id: WATCH_ID },
    body: { ...optionalBody(ANY_OBJECT), described: false },
    responses: { 202: json(WATCH, 'The watch') },
    problems: writesAnyBody('not_found', 'not_ready'),
  },
  rotateFeedToken: {
    tag: 'watches',
    summary: 'Replace the feed token of a watch',
    description: 'The former token ends at once.',
    guide: '200 with `feed_token`, which is shown only here. Needs no body',
    params: { id: WATCH_ID },
    body: { ...optionalBody(ANY_OBJECT), described: false },
    responses: { 200: json(FEED_TOKEN, 'The new token') },
    problems: writesAnyBody('not_found'),
  },
  listWatchChanges: {
    tag: 'watches',
    summary: 'What a watch has found',
    description:
      'Each change once, in order, for 30 days, at most 5,000 and 4 MiB. A cursor is given also at the end, to go on later. ' +
      'With format atom or rss, the feed token as token is enough instead of a key.',
    guide:
      '200 with a page of changes, oldest first; `next_cursor` is there also at the end, to go on later. `?format=ndjson`, or `atom` ' +
      'and `rss` with the newest 100, which `?token=` reads without a key. `?order=newest`: the newest first, with a cursor to older ones',
    params: { id: WATCH_ID },
    query: QUERIES.listWatchChanges,
    responses: {
      200: {
        description: 'Changes',
        headers: ['X-Next-Cursor'],
        content: {
          'application/json': WATCH_CHANGE_PAGE,
          'application/x-ndjson': z.string().meta({ description: 'One change per line' }),
          'application/atom+xml': z.string().meta({ description: 'RFC 4287' }),
          'application/rss+xml': z.string().meta({ description: 'RSS 2.0' }),
        },
      },
    },
    problems: reads('not_found'),
  },
} satisfies EndpointTexts;
