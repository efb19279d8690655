import * as z from 'zod';
import { nameOf, oneOf, PAGE, wholeNumber } from './parameters.ts';
import { WAIT_SECONDS_MAX } from './requests/extraction-delivery-requests.ts';
import { EXTRACTION_STATUSES, RECORD_FORMATS, WATCH_FORMATS } from './vocabulary.ts';

/** The query parameters of extractions and watches. */
export const EXTRACTION_QUERIES = {
  listExtractions: {
    ...PAGE,
    status: oneOf(EXTRACTION_STATUSES).optional().meta({ description: 'Only extractions with this status' }),
    connector: nameOf('the id of a connector').optional().meta({ description: 'Only extractions with this connector' }),
    operation: nameOf('the name of an operation')
      .optional()
      .meta({ description: 'Only extractions with this operation' }),
  },
  findExtraction: {
    wait: wholeNumber(0, WAIT_SECONDS_MAX, `This must be a number of seconds from 0 to ${WAIT_SECONDS_MAX}.`)
      .default(0)
      .meta({ description: 'Seconds' }),
  },
  listRecords: {
    ...PAGE,
    format: oneOf(RECORD_FORMATS).optional().meta({ description: "By default the format of the job's output" }),
    partial: z
      .boolean('This must be true or false.')
      .default(false)
      .meta({ description: 'Returns the records so far of a job that has not succeeded' }),
  },
  listWatches: PAGE,
  listWatchChanges: {
    ...PAGE,
    format: oneOf(WATCH_FORMATS).default('json').meta({
      description: 'atom and rss: the newest 100 changes, newest first, without pages',
    }),
    order: oneOf(['oldest', 'newest'])
      .default('oldest')
      .meta({ description: 'newest: the newest changes, newest first, one page without a cursor' }),
    token: z
      .string()
      .max(100, 'This must be the feed token of the watch.')
      .optional()
      .meta({ description: 'The feed token, instead of a key; with atom and rss only' }),
  },
};
