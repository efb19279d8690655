import * as z from 'zod';
import { idPattern } from '../wire-ids.ts';
import { EXTRACTION_STATUSES, FAILURE_REASONS, JOB_NOTES, META } from '../vocabulary.ts';
import { count, pageOf, unixSeconds } from './response-parts.ts';

const id = z.string().regex(idPattern('ext'));
const status = z.enum(EXTRACTION_STATUSES);

export const EXTRACTION_CREATED = z
  .object({
    id,
    status,
    connector: z.string(),
    operation: z.string(),
    request_id: z.string(),
    delivery: z
      .object({ type: z.literal('webhook'), secret: z.string() })
      .optional()
      .meta({
        description: "Present only if the service created the webhook's secret, which is not shown anywhere else",
      }),
  })
  .meta({ id: 'ExtractionCreated' });

const COUNTS = z.object({
  collected: count,
  target: count,
  pages: count,
  errors: count.meta({
    description: 'Failed fetches, lists that were fetched but could not be read, and dropped records',
  }),
  duplicates: count,
});

export const EXTRACTION = z
  .object({
    id,
    status,
    connector: z.string(),
    operation: z.string(),
    counts: COUNTS,
    usage: z.object({ credits: count, tier: z.enum(['basic', 'standard', 'rendered']) }),
    request_id: z.string(),
    created_at: unixSeconds,
    started_at: unixSeconds.nullable(),
    finished_at: unixSeconds.nullable(),
    expires_at: unixSeconds.nullable(),
    failure: z
      .object({ reason: z.enum(FAILURE_REASONS), retryable: z.boolean() })
      .optional()
      .meta({
        description: 'Present only if status is failed',
      }),
    waiting_until: unixSeconds.nullable().meta({
      description:
        'When a running job continues that is idle because a source asked it to wait, in Unix seconds; ' +
        'null for any other job',
    }),
    notes: z.array(z.object({ code: z.enum(JOB_NOTES), message: z.string() })).meta({
      description: 'How the result differs from what was requested',
    }),
    delivery: z.object({
      type: z.enum(['store', 'sync', 'webhook', 'destination']),
      status: z.enum(['pending', 'delivered', 'failed']),
    }),
  })
  .meta({ id: 'Extraction' });

export const EXTRACTION_PAGE = pageOf(EXTRACTION).meta({ id: 'ExtractionPage' });

const RECORD = z
  .looseObject({
    [META]: z.object({
      id: z.string(),
      source_url: z.string(),
      fetched_at: z.string().meta({ format: 'date-time' }),
      seq: z.int().min(1),
      truncated: z.literal(true).optional().meta({
        description: 'Present only if the record was larger than 1 MiB and was truncated',
      }),
    }),
  })
  .meta({ id: 'Record', description: "The fields of the operation's record_schema, as shaped by output, and _meta" });

/** The response of a call with delivery of type sync. */
export const INLINE_EXTRACTION = z
  .intersection(EXTRACTION, z.object({ records: z.array(RECORD), next_cursor: z.string().nullable() }))
  .meta({ id: 'InlineExtraction' });

export const RECORD_PAGE = z
  .object({ records: z.array(RECORD), has_more: z.boolean(), next_cursor: z.string().nullable() })
  .meta({ id: 'RecordPage' });
