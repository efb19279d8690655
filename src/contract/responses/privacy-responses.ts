import * as z from 'zod';
import { idPattern } from '../wire-ids.ts';
import { count } from './response-parts.ts';

const id = z.string().regex(idPattern('prv'));
const status = z.enum(['queued', 'running', 'succeeded', 'failed']);

export const PRIVACY_STARTED = z.object({ id, status }).meta({ id: 'PrivacyJobStarted' });

const EXPORT_JOB = z
  .object({
    id,
    kind: z.literal('export'),
    status,
    subject: z.string().meta({ description: 'entity.<name>, ip or browser' }),
    requested_at: count,
    finished_at: count.nullable().meta({ description: 'It can be fetched for an hour from then on' }),
    found: z.record(z.string(), count).meta({ description: 'Place → rows that were found there' }),
    left_out: z
      .record(z.string(), count)
      .meta({ description: 'Place → rows beyond the size of an export, which has 10,000 rows and 8 MiB at most' }),
  })
  .meta({ id: 'PersonExportJob' });

const ERASURE_JOB = z
  .object({
    id,
    kind: z.literal('erasure'),
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

export const PRIVACY_JOB = z.discriminatedUnion('kind', [ERASURE_JOB, EXPORT_JOB]).meta({ id: 'PrivacyJob' });
