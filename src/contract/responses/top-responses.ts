import * as z from 'zod';
import { CLAIMED_AGENT, count, decision, unixSeconds } from './response-parts.ts';

export const TOP = z
  .object({
    by: z.string(),
    count: z.string(),
    from: unixSeconds,
    to: unixSeconds,
    decisions: count.meta({ description: 'Number of examined decisions' }),
    is_truncated: z.boolean().meta({ description: 'There are older decisions in the range' }),
    rows: z
      .array(
        z.object({
          kind: z.string().meta({ description: 'A kind of link, reason, country, crawler or event_type' }),
          id: z.string().meta({ description: 'A value for GET /v1/links if the kind is one of a link' }),
          count,
          decisions: count,
          challenged: count.meta({ description: 'SOFT_CHALLENGE' }),
          blocked: count.meta({ description: 'BLOCK' }),
          worst: decision,
          last_seen: unixSeconds,
          verified: CLAIMED_AGENT.verified.optional(),
          operator: CLAIMED_AGENT.operator.optional(),
          purpose: CLAIMED_AGENT.purpose.optional(),
        }),
      )
      .meta({
        description: 'The ten with the largest count; by crawler all, each once for each way in which it was verified',
      }),
  })
  .meta({
    id: 'Top',
    examples: [
      {
        by: 'ip',
        count: 'identities',
        from: 1_795_262_400,
        to: 1_795_348_800,
        decisions: 20_000,
        is_truncated: true,
        rows: [
          {
            kind: 'ip',
            id: '203.0.113.7',
            count: 212,
            decisions: 640,
            challenged: 120,
            blocked: 400,
            worst: 'BLOCK',
            last_seen: 1_795_348_790,
          },
        ],
      },
    ],
  });
