import * as z from 'zod';
import { WATCH_CHANGE_KINDS } from '../vocabulary.ts';
import { EXTRACTION_REQUEST, FIELD_PATH } from './extraction-requests.ts';

/** Choice: a key of more parts, and a comparison of more fields, are those of the whole record. */
const KEY_PATHS_MAX = 8;
const COMPARE_PATHS_MAX = 50;

const PATHS_DIFFER = 'The paths must differ.';
const areDifferent = (items: readonly string[]): boolean => new Set(items).size === items.length;

const key = z.array(FIELD_PATH).min(1).max(KEY_PATHS_MAX).refine(areDifferent, { message: PATHS_DIFFER }).meta({
  description: 'Paths whose values identify a record, such as ["id"]',
});
const compare = z
  .array(FIELD_PATH)
  .min(1)
  .max(COMPARE_PATHS_MAX)
  .refine(areDifferent, { message: PATHS_DIFFER })
  .nullish()
  .meta({
    description: 'Paths whose values are compared; by default the whole record',
  });
const every = z.string().max(10).nullish().meta({
  description: 'Minutes, hours or days such as 15m, 6h, 1d; at least 5m. The first run begins at once. This or cron',
});
const cron = z.string().max(100).nullish().meta({
  description: 'Five fields in UTC, such as "0 6 * * MON-FRI"; due times at least 5 minutes apart',
});
const emit = z
  .array(z.enum(WATCH_CHANGE_KINDS))
  .min(1)
  .max(3)
  .refine(areDifferent, { message: 'The kinds must differ.' })
  .nullish();
const name = z.string().min(1).max(100).nullish();
const paused = z.boolean().nullish().meta({ default: false });

/** The body of `POST /v1/watches`, as far as a schema can validate it. */
export const WATCH_REQUEST = z
  .object({
    name,
    extraction: EXTRACTION_REQUEST.meta({
      description: 'What each run extracts, as in POST /v1/extractions; without delivery and output.schema',
    }),
    every,
    cron,
    key,
    compare,
    emit: emit.meta({ description: 'Kinds of changes that are kept; by default all' }),
    paused,
  })
  .meta({ id: 'WatchRequest' });

/** The body of `PATCH /v1/watches/{id}`. */
export const WATCH_PATCH = z
  .object({
    name,
    extraction: EXTRACTION_REQUEST.optional().meta({ description: 'Replaced as a whole' }),
    every,
    cron,
    key: key.optional(),
    compare,
    emit,
    paused,
  })
  .meta({ id: 'WatchPatch' });
