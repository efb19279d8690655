import * as z from 'zod';
import { DECISIONS } from '../vocabulary.ts';
import { idPattern } from '../wire-ids.ts';
import { count, decision, reasons, requestId } from './response-parts.ts';

const counts = z.object(Object.fromEntries(DECISIONS.map((name) => [name, count])) as Record<string, typeof count>);
const matrix = z
  .object(Object.fromEntries(DECISIONS.map((name) => [name, counts])) as Record<string, typeof counts>)
  .meta({ description: 'Decision before → decision after → events' });
const id = z.string().regex(idPattern('bt'));
const status = z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled']);

export const BACKTEST_STARTED = z.object({ id, status }).meta({ id: 'BacktestStarted' });

export const BACKTEST_JOB = z
  .object({
    id,
    status,
    progress: z.number().min(0).max(1),
    replayed: count.meta({ description: 'Requests that were decided again so far' }),
    detail: z.string().optional().meta({ description: 'Why it failed' }),
    source: z.enum(['requests', 'features']).optional().meta({
      description:
        'features: no requests are logged, so the result is an approximation. With all that follows, when it has ended',
    }),
    facts_missing: z.array(z.string()).optional(),
    events: count.optional(),
    matrix: matrix.optional(),
    by_label: z.object({ fraud: matrix, legitimate: matrix }).optional(),
    people_touched: count.optional(),
    rules: z
      .array(z.object({ code: z.string(), touched: count, decisions: count }))
      .optional()
      .meta({
        description: 'What each own rule after the change fired on, of decisions with a secret key; empty for features',
      }),
    examples: z
      .array(z.object({ request_id: requestId, before: decision, after: decision, reasons }))
      .optional()
      .meta({ description: 'At most 20 decisions that change' }),
    recorded: z.object({ same: count, different: count }).nullable().optional().meta({
      description: 'Decisions under the present policy against those that were made; null of an approximation',
    }),
    log_from: z.string().nullable().optional().meta({ description: 'The first logged request, ISO 8601' }),
    damaged: z
      .array(z.object({ file: z.string(), fromByte: count, toByte: count }))
      .optional()
      .meta({ description: 'Parts of the log that could not be read' }),
  })
  .meta({ id: 'BacktestJob' });
