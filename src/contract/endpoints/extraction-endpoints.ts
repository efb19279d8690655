import * as z from 'zod';
import { body, type EndpointTexts, json, optionalBody, reads, writesAnyBody, writesBody } from '../endpoint.ts';
import { EXTRACTION_ID, IDEMPOTENCY_KEY } from '../parameters.ts';
import { QUERIES } from '../routes.ts';
import { EXTRACTION_REQUEST } from '../requests/extraction-requests.ts';
import { ANY_OBJECT } from '../requests/webhook-requests.ts';
import {
  EXTRACTION,
  EXTRACTION_CREATED,
  EXTRACTION_PAGE,
  INLINE_EXTRACTION,
  RECORD_PAGE,
} from '../responses/extraction-responses.ts';

export const EXTRACTION_ENDPOINTS = {
  listExtractions: {
    tag: 'extractions',
    summary: "The caller's own extractions, newest first",
    description: 'All given filters apply together.',
    guide:
      '200 with a page, newest first. Filters: `?status=`, `?connector=` and `?operation=`; all given filters apply ' +
      'together',
    query: QUERIES.listExtractions,
    responses: { 200: json(EXTRACTION_PAGE, 'A page of extractions', ['X-SVC-Partial']) },
    problems: reads(),
  },
  createExtraction: {
    tag: 'extractions',
    summary: 'Extract records from a source',
    description:
      'The job is stored before the response is sent. With delivery of type sync the response contains the records.',
    guide:
      '202 with `id`, `status`, `connector`, `operation`, `request_id`, and `Location`. The job is stored before ' +
      'the response is sent. For delivery of type `sync` see [inline responses](#inline-responses)',
    headers: { 'Idempotency-Key': IDEMPOTENCY_KEY },
    body: body(EXTRACTION_REQUEST),
    responses: {
      200: json(INLINE_EXTRACTION, 'The job has ended; only with delivery of type sync', ['Location']),
      202: json(
        EXTRACTION_CREATED,
        'The job is queued; with delivery of type sync it continues, and Retry-After gives the seconds to wait before polling it',
        ['Location', 'Retry-After'],
      ),
    },
    problems: writesBody(
      // With delivery of type sync, if the job is removed while the call waits for it.
      'not_found',
      'limit_reached',
      'idempotency_conflict',
      'blocked_url',
      'unknown_connector',
      'unknown_operation',
      'sync_limit_exceeded',
      'queue_full',
    ),
  },
  findExtraction: {
    tag: 'extractions',
    summary: "One of the caller's own extractions",
    description: 'With wait, the response is sent when the job ends, at the latest after that number of seconds.',
    guide:
      '200 with [the job](#the-job-object), or 404. With `?wait=30` (0 to 120) the response is sent when the job ' +
      'ends, at the latest after that number of seconds. It is sent at once while 100 such calls of yours, or 1,000 ' +
      'of all customers, are waiting',
    params: { id: EXTRACTION_ID },
    query: QUERIES.findExtraction,
    responses: { 200: json(EXTRACTION, 'The extraction', ['X-SVC-Partial']) },
    problems: reads('not_found'),
  },
  cancelExtraction: {
    tag: 'extractions',
    summary: 'Cancel an extraction',
    description: 'It ends as failed with reason cancelled. An extraction that has ended is not changed.',
    guide:
      'Ends the job as `failed` with reason `cancelled`. 200 with the job. A job that has ended is not changed, ' +
      'and the response is 200 as well. Needs no body',
    params: { id: EXTRACTION_ID },
    body: { ...optionalBody(ANY_OBJECT), described: false },
    responses: { 200: json(EXTRACTION, 'The extraction') },
    problems: writesAnyBody('not_found'),
  },
  listRecords: {
    tag: 'extractions',
    summary: 'The records of an extraction that has succeeded',
    description: 'In order, at most 10 MB per page.',
    guide: '200 with [its records](#records), or 404',
    params: { id: EXTRACTION_ID },
    query: QUERIES.listRecords,
    responses: {
      200: {
        description: 'A page of records',
        headers: ['X-Next-Cursor', 'Link', 'X-SVC-Partial'],
        content: {
          'application/json': RECORD_PAGE,
          'application/x-ndjson': z.string().meta({ description: 'One record per line' }),
          'text/csv': z.string().meta({
            description:
              'RFC 4180. The header row is on the page with the first record, or on the page of a job that has ended without records',
          }),
          'text/markdown': z.string().meta({ description: 'One document a record, with front matter' }),
          'application/vnd.apache.parquet': z.string().meta({
            format: 'binary',
            description: 'A complete file of the records of the page',
          }),
        },
      },
    },
    problems: reads('not_found', 'not_ready', 'records_delivered'),
  },
} satisfies EndpointTexts;
