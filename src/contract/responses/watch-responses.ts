import * as z from 'zod';
import { FAILURE_REASONS, WATCH_CHANGE_KINDS, WATCH_NOTES } from '../vocabulary.ts';
import { idPattern } from '../wire-ids.ts';
import { count, pageOf, unixSeconds } from './response-parts.ts';

const id = z.string().regex(idPattern('wat'));
const BEGAN = {
  run: z.int().min(1).meta({ description: 'Numbers the runs of a watch' }),
  due_at: unixSeconds.nullable().meta({ description: 'The due time that it stands for; null if it was asked for' }),
  started_at: unixSeconds,
  extraction_id: z.string().nullable(),
};

const LAST_RUN = z.object({
  ...BEGAN,
  finished_at: unixSeconds,
  status: z.enum(['succeeded', 'failed']),
  reason: z
    .enum([...FAILURE_REASONS, 'not_accepted', 'job_removed', 'too_many_records'])
    .nullable()
    .meta({ description: 'Why it failed; null if it succeeded' }),
  complete: z
    .boolean()
    .meta({ description: 'Whether the extraction had everything; else no record is counted as absent' }),
  notes: z.array(z.enum(WATCH_NOTES)).meta({
    description:
      'duplicate_key: several records had one key, and the first counted. missing_key: records without a key, or with one of over 512 ' +
      'characters, were left out. selector_drift: nothing is found any more for drifted_fields',
  }),
  drifted_fields: z.array(z.string()).meta({
    description:
      'Fields of page.select and site.select that were null in at most 20 % of the records and now are in at least 60 %, of 10 records ' +
      'or more in both runs; all fields if there is no record any more. Named in each complete run until the field is found again, or the extraction is changed',
  }),
  records: count,
  new: count,
  changed: count,
  gone: count,
});

export const WATCH = z
  .object({
    id,
    name: z.string().nullable(),
    extraction: z.record(z.string(), z.unknown()),
    every: z
      .string()
      .nullable()
      .meta({ examples: ['15m'] }),
    cron: z.string().nullable(),
    key: z.array(z.string()),
    compare: z.array(z.string()).nullable(),
    emit: z.array(z.enum(WATCH_CHANGE_KINDS)),
    paused: z.boolean(),
    status: z.enum(['waiting', 'running', 'paused']),
    next_run_at: unixSeconds.nullable().meta({ description: 'null while it is paused' }),
    missed_runs: count.meta({
      description: 'Due times that no run stands for, because the service or an earlier run took longer',
    }),
    baseline: z.boolean().meta({ description: 'Whether a complete run has ended since what is compared was set' }),
    running: z.object(BEGAN).nullable(),
    last_run: LAST_RUN.nullable(),
    created_at: unixSeconds,
    updated_at: unixSeconds,
  })
  .meta({ id: 'Watch' });

export const WATCH_CREATED = WATCH.extend({
  feed_token: z.string().meta({ description: 'Reads the changes as Atom or RSS by ?token=. Shown only here' }),
}).meta({ id: 'WatchCreated' });

export const FEED_TOKEN = z.object({ feed_token: z.string() }).meta({ id: 'FeedToken' });

export const WATCH_PAGE = pageOf(WATCH).meta({ id: 'WatchPage' });

export const WATCH_CHANGE = z
  .object({
    id: z.string().meta({
      description: 'The id of the watch and the number of the change, which rises by one',
      examples: ['wat_01KB2R4T00AAAAAAAAAAAAAAAA-7'],
    }),
    at: unixSeconds,
    kind: z.enum(WATCH_CHANGE_KINDS),
    key: z.record(z.string(), z.unknown()).meta({ description: 'Path → value' }),
    record: z.record(z.string(), z.unknown()).nullable().meta({
      description: 'The record as it is; null for one that is gone, and for one of over 16 KiB',
    }),
    before: z.record(z.string(), z.unknown()).optional().meta({
      description:
        'The values that are compared, as they were; absent for a new record, and if they take over 512 bytes',
    }),
  })
  .meta({ id: 'WatchChange' });

export const WATCH_CHANGE_PAGE = pageOf(WATCH_CHANGE).meta({ id: 'WatchChangePage' });
