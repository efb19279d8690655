import * as z from 'zod';
import { idPattern } from '../wire-ids.ts';
import { count } from './response-parts.ts';

const id = z.string().regex(idPattern('prv'));
const status = z.enum(['queued', 'running', 'succeeded', 'failed']);

export const ERASURE_STARTED = z.object({ id, status }).meta({ id: 'ErasureStarted' });

export const ERASURE_JOB = z
  .object({
    id,
    status: status.meta({ description: 'failed: a place could not be written; the next start repeats the erasure' }),
    subject: z.string().meta({ description: 'entity.<name>, ip or browser; the value is not kept' }),
    keep_blocks: z.boolean(),
    requested_at: count,
    finished_at: count.nullable(),
    erased: z
      .record(z.string(), count)
      .meta({ description: 'Place → rows that were erased there; empty until it has ended' }),
    kept: z
      .array(
        z.object({
          place: z.string(),
          rows: count.nullable().meta({ description: 'null: not counted' }),
          ground: z.enum(['keep_blocks', 'to_be_sent', 'decision_record', 'expires', 'not_searched']),
          meaning: z.string(),
        }),
      )
      .meta({ description: 'What stays, and why' }),
  })
  .meta({ id: 'ErasureJob' });
