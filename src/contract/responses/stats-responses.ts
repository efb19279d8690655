import * as z from 'zod';
import { count, unixSeconds } from './response-parts.ts';

const byName = z.record(z.string(), count);
const latency = z.number().min(0).nullable();

export const STATS = z
  .object({
    from: unixSeconds,
    to: unixSeconds,
    step: z.int().meta({ description: 'Seconds' }),
    address_warning: z.enum(['one_address', 'no_public_address']).optional().meta({
      description:
        'Over 80 % of the decisions of this hour or the last one carry one address, or no public one; absent otherwise',
    }),
    points: z
      .array(
        z.object({
          at: unixSeconds.meta({ description: 'Start of the period, a multiple of step' }),
          decisions: z.object({
            ALLOW: count,
            ALLOW_WATCH: count,
            SOFT_CHALLENGE: count,
            REVIEW: count,
            BLOCK: count,
          }),
          event_types: byName.meta({ description: 'Decisions by event type; more than 16 in a period count as other' }),
          reasons: byName.meta({ description: 'Decisions by reason' }),
          scores: z
            .array(count)
            .meta({ description: 'Decisions by score, in 20 buckets of 5 points; the last one includes 100' }),
          latency_ms: z
            .object({ p50: latency, p99: latency })
            .meta({ description: 'Accurate to a tenth; null without a decision' }),
          refusals: byName.meta({ description: 'Requests without a decision, by problem code' }),
        }),
      )
      .meta({ description: 'In the order of time; periods in which nothing happened are absent' }),
  })
  .meta({ id: 'Stats' });
